package ioc

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// minDigits is the least number of digits of a PV's index.
const minDigits = 4

// names maps the names of PVs to what they stand for: "SIM:RAMP:0042".
type names struct {
	kinds    []Kind
	heads    [][]byte // by position in kinds: "SIM:RAMP:"
	channels int
	digits   int
}

func newNames(c *Config) (*names, error) {
	kinds, err := c.kinds()
	if err != nil {
		return nil, err
	}
	n := &names{kinds: kinds, channels: c.Channels, digits: max(minDigits, len(strconv.Itoa(c.Channels-1)))}
	for _, k := range kinds {
		n.heads = append(n.heads, []byte(c.Prefix+":"+k.String()+":"))
	}
	return n, nil
}

// find returns what a name stands for. As in any IOC a name may end in .VAL.
func (n *names) find(name []byte) (k Kind, index int, ok bool) {
	name = bytes.TrimSuffix(name, []byte(".VAL"))
	for i, head := range n.heads {
		if rest, is := bytes.CutPrefix(name, head); is {
			index, ok = n.parse(rest)
			return n.kinds[i], index, ok
		}
	}
	return 0, 0, false
}

func (n *names) parse(digits []byte) (index int, ok bool) {
	if len(digits) != n.digits {
		return 0, false
	}
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		index = 10*index + int(d-'0')
	}
	return index, index < n.channels
}

// all yields every name, kind by kind.
func (n *names) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, head := range n.heads {
			for i := range n.channels {
				if !yield(fmt.Sprintf("%s%0*d", head, n.digits, i)) {
					return
				}
			}
		}
	}
}

// Names yields the names of all PVs that a server of this configuration serves,
// kind by kind, or returns what is wrong with the configuration.
func (c Config) Names() (iter.Seq[string], error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	n, err := newNames(&c)
	if err != nil {
		return nil, err
	}
	return n.all(), nil
}

// Lookup returns what a name of this configuration stands for, for Value.
func (c Config) Lookup(name string) (k Kind, index int, ok bool) {
	c = c.withDefaults()
	n, err := newNames(&c)
	if err != nil {
		return 0, 0, false
	}
	return n.find([]byte(strings.TrimSpace(name)))
}
