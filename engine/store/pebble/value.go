package pebble

import (
	"encoding/binary"
	"errors"
	"math"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// errCorrupt is returned for a key or value that this package cannot have written.
var errCorrupt = errors.New("damaged entry")

func appendFloat(v []byte, f float64) []byte { return appendUint64(v, math.Float64bits(f)) }

func appendString(v []byte, s string) []byte {
	return append(binary.AppendUvarint(v, uint64(len(s))), s...)
}

// reader reads the fields of a value. After the first truncated field all fields are
// zero, and end returns an error.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) uint8() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) float() float64 { return math.Float64frombits(r.uint64()) }

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) string() string { return string(r.bytes(r.uvarint())) }

// end returns errCorrupt if a field was truncated or bytes are left.
func (r *reader) end() error {
	if r.bad || len(r.rest) > 0 {
		return errCorrupt
	}
	return nil
}

func appendClaim(v []byte, c *store.Claim) []byte {
	v = appendUint64(v, c.Epoch)
	v = appendUint64(v, uint64(c.Since))
	v = appendUint64(v, uint64(c.Alive))
	closed := byte(0)
	if c.Closed {
		closed = 1
	}
	v = appendUint64(append(v, closed), uint64(c.Last))
	return appendUint64(appendUint64(v, uint64(c.Sealing)), uint64(c.Saved))
}

func decodeClaim(c *store.Claim, v []byte) error {
	r := reader{rest: v}
	c.Epoch, c.Since, c.Alive = r.uint64(), int64(r.uint64()), int64(r.uint64())
	c.Closed, c.Last = r.uint8() != 0, store.Position(r.uint64())
	if len(r.rest) > 0 { // from version 5 on
		c.Sealing, c.Saved = store.Term(r.uint64()), int64(r.uint64())
	}
	return r.end()
}

func appendRow(v []byte, row *store.JournalRow) []byte {
	v = binary.AppendUvarint(v, uint64(len(row.Index)))
	return append(append(v, row.Index...), row.Blob...)
}

// decodeRow sets the index and the blob to slices of v.
func decodeRow(row *store.JournalRow, v []byte) error {
	r := reader{rest: v}
	row.Index = r.bytes(r.uvarint())
	row.Blob = r.bytes(uint64(len(r.rest)))
	return r.end()
}

func appendHeader(v []byte, b *store.Block) []byte {
	v = appendUint64(v, uint64(b.End))
	v = appendUint32(v, uint32(b.Count))
	v = append(v, byte(b.Type))
	return appendFloat(appendFloat(appendFloat(v, b.Min), b.Max), b.Sum)
}

func decodeHeader(b *store.Block, v []byte) error {
	r := reader{rest: v}
	b.End = int64(r.uint64())
	if count := r.bytes(4); count != nil {
		b.Count = int(binary.BigEndian.Uint32(count))
	}
	b.Type = sample.Type(r.uint8())
	b.Min, b.Max, b.Sum = r.float(), r.float(), r.float()
	return r.end()
}

// headerBytes is the length of a header. From version 4 on, the write time of the block
// follows, in ns since 1970.
const headerBytes = 8 + 4 + 1 + 3*8

func appendWritten(v []byte, t int64) []byte { return appendUint64(v, uint64(t)) }

// cutWritten splits a value into the header and the write time of the block. The time is 0 if
// the value has none.
func cutWritten(v []byte) (fields []byte, t int64) {
	if len(v) != headerBytes+8 {
		return v, 0
	}
	return v[:headerBytes], int64(binary.BigEndian.Uint64(v[headerBytes:]))
}

func appendRollup(v []byte, r *store.Rollup) []byte {
	return append(appendUint64(v, uint64(r.Stamp)), r.Blob...)
}

// decodeRollup sets the blob to a slice of v.
func decodeRollup(r *store.Rollup, v []byte) error {
	d := reader{rest: v}
	r.Stamp, r.Blob = int64(d.uint64()), d.bytes(uint64(len(d.rest)))
	return d.end()
}

func appendMark(v []byte, m *sample.Mark) []byte {
	v = binary.AppendVarint(v, m.End)
	v = binary.AppendUvarint(v, m.Count)
	return append(v, m.Text...)
}

func decodeMarkValue(m *sample.Mark, v []byte) error {
	r := reader{rest: v}
	m.End, m.Count = r.varint(), r.uvarint()
	m.Text = string(r.bytes(uint64(len(r.rest))))
	return r.end()
}

// metadataForm is the first byte of metadata with properties. Metadata of version 1 begins
// with the type, which never has this value, and ends with the labels.
const metadataForm = 0x7f

func appendMetadata(v []byte, m *sample.Metadata) []byte {
	v = append(v, metadataForm, byte(m.Type))
	v = binary.AppendVarint(v, int64(m.Count))
	v = binary.AppendVarint(v, int64(m.Precision))
	for _, limit := range m.Limits() {
		v = appendFloat(v, limit)
	}
	v = appendString(appendString(v, m.Units), m.Host)
	v = binary.AppendUvarint(v, uint64(len(m.Labels)))
	for _, label := range m.Labels {
		v = appendString(v, label)
	}
	v = binary.AppendUvarint(v, uint64(len(m.Properties)))
	for _, p := range m.Properties {
		v = appendString(appendString(v, p.Name), p.Value)
	}
	return v
}

func decodeMetadata(m *sample.Metadata, v []byte) error {
	r := reader{rest: v}
	form := r.uint8()
	m.Type = sample.Type(form)
	if form == metadataForm {
		m.Type = sample.Type(r.uint8())
	}
	m.Count, m.Precision = int(r.varint()), int(r.varint())
	var limits [8]float64
	for i := range limits {
		limits[i] = r.float()
	}
	m.SetLimits(limits)
	m.Units, m.Host = r.string(), r.string()
	if form != metadataForm {
		for len(r.rest) > 0 {
			m.Labels = append(m.Labels, r.string())
		}
		return r.end()
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		m.Labels = append(m.Labels, r.string())
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		m.Properties = append(m.Properties, sample.Property{Name: r.string(), Value: r.string()})
	}
	return r.end()
}
