package sim

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"

	"varve.dev/varve/engine/sample"
)

// minDigits is the minimum number of digits of a PV's index.
const minDigits = 4

// Set is a set of PVs with names such as SIM:RAMP:0042. It does not change.
type Set struct {
	kinds    []Kind
	heads    [][]byte // by position in kinds: "SIM:RAMP:"
	channels int
	digits   int
	elements int
	meta     [NumKinds]sample.Metadata
}

// NewSet returns a set with the given number of channels of each kind. A value of kind Wave
// has the given number of elements.
func NewSet(prefix string, kinds []Kind, channels, elements int) *Set {
	s := &Set{
		kinds: kinds, channels: channels, elements: elements,
		digits: max(minDigits, len(strconv.Itoa(channels-1))),
	}
	for _, k := range kinds {
		s.heads = append(s.heads, []byte(prefix+":"+k.String()+":"))
	}
	for _, k := range Kinds() {
		s.meta[k] = k.metadata(elements)
	}
	return s
}

// Find returns the PV with a name. As in any IOC, a name may end with .VAL.
func (s *Set) Find(name []byte) (p PV, ok bool) {
	name = bytes.TrimSuffix(name, []byte(".VAL"))
	for i, head := range s.heads {
		if rest, is := bytes.CutPrefix(name, head); is {
			index, ok := s.parse(rest)
			return PV{s.kinds[i], int32(index)}, ok
		}
	}
	return PV{}, false
}

func (s *Set) parse(digits []byte) (index int, ok bool) {
	if len(digits) != s.digits {
		return 0, false
	}
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		index = 10*index + int(d-'0')
	}
	return index, index < s.channels
}

// Names yields the names of all PVs, kind by kind.
func (s *Set) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, head := range s.heads {
			for i := range s.channels {
				if !yield(fmt.Sprintf("%s%0*d", head, s.digits, i)) {
					return
				}
			}
		}
	}
}

// Elements returns the number of elements of a value of a kind. It is 1 for a scalar.
func (s *Set) Elements(k Kind) int { return s.meta[k].Count }

// Metadata returns the metadata of the PVs of a kind. It is shared, so the caller must not
// change it.
func (s *Set) Metadata(k Kind) *sample.Metadata { return &s.meta[k] }

// Value returns the value and the alarm of a PV at a tick, without a time. PV.Number documents
// the values.
func (s *Set) Value(p PV, tick int64) sample.Sample {
	switch p.Kind {
	case String:
		return sample.Sample{Bytes: p.AppendText(nil, tick)}
	case Wave:
		return sample.Sample{Bytes: p.AppendWave(nil, tick, s.elements)}
	}
	word, tag := p.Number(tick)
	return sample.Sample{Word: word, Tag: tag}
}
