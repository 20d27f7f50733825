package channellist

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
)

// maxNames is the maximum number of former names of a channel, and that of its aliases.
const maxNames = 16

// addNames adds the former names and aliases of a channel to the part.
func (p *part) addNames(n *capture.Names) {
	if n == nil {
		return
	}
	p.other = binary.AppendUvarint(p.other, uint64(p.channels))
	for _, list := range [][]string{n.Former, n.Aliases} {
		p.other = binary.AppendUvarint(p.other, uint64(len(list)))
		for _, name := range list {
			p.other = appendBytes(p.other, name)
		}
	}
	p.named++
}

// sizeOfNames returns how many bytes addNames adds at most.
func sizeOfNames(n *capture.Names) (size int) {
	if n == nil {
		return 0
	}
	size = 3 * binary.MaxVarintLen32
	for _, list := range [][]string{n.Former, n.Aliases} {
		for _, name := range list {
			size += len(name) + binary.MaxVarintLen32
		}
	}
	return size
}

// readOtherNames reads the former names and aliases of channels, which end a body of version 2.
func readOtherNames(r *reader, channels []capture.Channel) error {
	n := r.count(3) // an index, two numbers
	if r.err == nil && n == 0 {
		return errors.New("no channel has other names, although the version says so")
	}
	for next := uint64(0); n > 0; n-- {
		i := r.uvarint()
		former, err := readList(r)
		if err != nil {
			return err
		}
		aliases, err := readList(r)
		if err != nil {
			return err
		}
		switch {
		case r.err != nil:
			return r.err
		case i < next || i >= uint64(len(channels)):
			return errors.New("the channels with other names are not sorted, or not in the list")
		case len(former)+len(aliases) == 0:
			return fmt.Errorf("channel %d has no other names, although the list says so", i)
		}
		channels[i].Names, next = &capture.Names{Former: former, Aliases: aliases}, i+1
	}
	return r.err
}

func readList(r *reader) (names []string, err error) {
	n := r.count(1)
	if n > maxNames {
		return nil, fmt.Errorf("a channel has %d names of a kind; at most %d are allowed", n, maxNames)
	}
	for range n {
		name := string(r.bytes(pvname.MaxLen))
		if r.err != nil {
			return nil, r.err
		}
		if err := pvname.Check(name); err != nil {
			return nil, fmt.Errorf("decoding another name of a channel: %w", err)
		}
		names = append(names, name)
	}
	return names, nil
}
