package channellist

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
)

// Decode returns the channels of a list, sorted by PV. Channels with equal settings share
// them; the caller must not change the settings.
func Decode(data []byte) ([]capture.Channel, error) {
	body, version, err := decompress(data)
	if err != nil {
		return nil, fmt.Errorf("decoding a channel list: %w", err)
	}
	channels, err := decodeBody(body, version)
	if err != nil {
		return nil, fmt.Errorf("decoding a channel list: %w", err)
	}
	return channels, nil
}

func decodeBody(body []byte, version byte) ([]capture.Channel, error) {
	r := &reader{rest: body}
	classes := make([]*capture.Settings, r.count(1))
	for i := range classes {
		settings, err := decodeClass(r.bytes(maxClass))
		if err != nil && r.err == nil {
			return nil, fmt.Errorf("decoding settings %d: %w", i, err)
		}
		classes[i] = settings
	}
	groups := make([]string, r.count(1))
	for i := range groups {
		groups[i] = string(r.bytes(maxGroup))
	}
	channels := make([]capture.Channel, r.count(4)) // two bytes of a name, two indexes
	if err := readNames(r, channels); err != nil {
		return nil, err
	}
	for i := range channels {
		channels[i].Settings = at(r, classes)
	}
	for i := range channels {
		channels[i].Group = at(r, groups)
	}
	if version == versionNames {
		if err := readOtherNames(r, channels); err != nil {
			return nil, err
		}
	}
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("there are %d bytes after the end", len(r.rest))
	}
	if r.err != nil {
		return nil, r.err
	}
	return channels, nil
}

// readNames decodes the front-coded names. All names share one string.
func readNames(r *reader, channels []capture.Channel) error {
	ends := make([]int, len(channels))
	var text, name []byte
	for i := range channels {
		shared := r.uvarint()
		suffix := r.bytes(pvname.MaxLen)
		if r.err != nil {
			return r.err
		}
		if shared > uint64(len(name)) || int(shared)+len(suffix) > pvname.MaxLen {
			return fmt.Errorf("name %d shares more bytes than the previous name has, or is too long", i)
		}
		name = append(name[:shared], suffix...)
		text = append(text, name...)
		ends[i] = len(text)
	}
	all, begin := string(text), 0
	for i, end := range ends {
		pv := all[begin:end]
		if err := pvname.Check(pv); err != nil {
			return fmt.Errorf("decoding name %d: %w", i, err)
		}
		if i > 0 && pv <= channels[i-1].PV {
			return fmt.Errorf("name %d is not sorted", i)
		}
		channels[i].PV, begin = pv, end
	}
	return nil
}

// at reads an index and returns the table entry with this index.
func at[T any](r *reader, table []T) (entry T) {
	i := r.uvarint()
	if i >= uint64(len(table)) {
		r.fail(errors.New("an index is beyond its table"))
		return entry
	}
	return table[i]
}

// reader reads a body. After an error it returns zero values.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err, r.rest = err, nil
	}
}

var errTruncated = errors.New("it is truncated")

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail(errTruncated)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count reads a number of elements that take at least the given number of bytes each.
func (r *reader) count(each int) int {
	n := r.uvarint()
	if n > uint64(len(r.rest)/each) {
		r.fail(errTruncated)
		return 0
	}
	return int(n)
}

// bytes reads a length and that many bytes. The result aliases the body.
func (r *reader) bytes(limit int) []byte {
	n := r.count(1)
	if n > limit {
		r.fail(fmt.Errorf("%d bytes exceed the limit of %d", n, limit))
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}
