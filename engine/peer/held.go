package peer

import (
	"encoding/binary"
	"errors"
	"fmt"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// ContentType is the content type of an answer to /internal/recent. The answer has blocks,
// which compression cannot make smaller.
const ContentType = "application/vnd.varve.recent"

// version is the first byte of an answer. docs/format/recent.md draws it. Answers of firstVersion
// lack the fields from flushed on.
const (
	version      = 2
	firstVersion = 1
)

// Bits of the second byte of an answer.
const (
	known      = 1
	unanswered = 2 // the answer lacks samples
)

// maxShards exceeds the number of shards of any archive.
const maxShards = 1 << 16

// ErrCorrupt is returned for answers that do not decode.
var ErrCorrupt = errors.New("damaged answer of an engine")

// AppendHeld appends the encoding of the samples of a PV that an engine holds. It cuts
// runs that are too long for a block.
func AppendHeld(dst []byte, h *query.Held) []byte {
	flags := byte(0)
	if h.Known {
		flags |= known
	}
	if h.Unanswered {
		flags |= unanswered
	}
	dst = append(dst, version, flags)
	dst = binary.AppendUvarint(dst, uint64(len(h.Shards)))
	for _, s := range h.Shards {
		dst = binary.AppendUvarint(dst, uint64(s))
	}
	dst = binary.AppendUvarint(dst, uint64(len(h.Covers)))
	for _, w := range h.Covers {
		dst = append(dst, w[:]...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(h.Flushed)))
	for _, f := range h.Flushed {
		dst = binary.AppendVarint(append(dst, f.Writer[:]...), f.Until)
	}
	dst = binary.AppendVarint(dst, h.Connected)
	var blob []byte
	for _, r := range h.Runs {
		for part := range parts(r) {
			blob = block.Append(blob[:0], part)
			dst = binary.AppendUvarint(dst, uint64(len(blob)))
			dst = append(dst, blob...)
		}
	}
	return binary.AppendUvarint(dst, 0)
}

// Limits of one part of a run, by the limits of block.Decode.
const (
	partSamples = 4096
	partBytes   = block.MaxBytes / 4
)

// parts yields a run in parts that a block can hold.
func parts(r *sample.Run) func(yield func(*sample.Run) bool) {
	return func(yield func(*sample.Run) bool) {
		for from := 0; from < r.Len(); {
			to, size := from, 0
			for to < min(from+partSamples, r.Len()) && (to == from || size < partBytes) {
				if !r.Type.Fixed() {
					size += len(r.Value(to))
				}
				to++
			}
			part := new(sample.Run)
			r.Part(part, from, to)
			if !yield(part) {
				return
			}
			from = to
		}
	}
}

// DecodeHeld decodes the output of AppendHeld. The runs share no memory with src.
func DecodeHeld(src []byte) (query.Held, error) {
	d := decoder{rest: src}
	v := d.byte()
	if d.err == nil && v != version && v != firstVersion {
		return query.Held{}, fmt.Errorf("the engine answers in version %d, which this program does not know; upgrade this program", v)
	}
	flags := d.byte()
	h := query.Held{Known: flags&known != 0, Unanswered: flags&unanswered != 0}
	for range d.count(maxShards, 1) {
		h.Shards = append(h.Shards, int(d.uvarint(maxShards)))
	}
	for range d.count(maxShards, len(store.WriterID{})) {
		h.Covers = append(h.Covers, d.writer())
	}
	if v != firstVersion {
		for range d.count(maxShards, len(store.WriterID{})+1) {
			h.Flushed = append(h.Flushed, query.Flushed{Writer: d.writer(), Until: d.varint()})
		}
		h.Connected = d.varint()
	}
	for d.err == nil {
		size := d.uvarint(uint64(len(d.rest)))
		if size == 0 {
			break
		}
		r := new(sample.Run)
		if blob := d.bytes(int(size)); d.err == nil {
			d.fail(block.Decode(r, blob))
		}
		h.Runs = append(h.Runs, r)
	}
	if d.err == nil && len(d.rest) > 0 {
		d.err = ErrCorrupt
	}
	if d.err != nil {
		return query.Held{}, d.err
	}
	return h, nil
}

// decoder decodes values from the front of rest. After the first error all values are 0.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(err error) {
	if d.err == nil && err != nil {
		d.err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
}

func (d *decoder) bytes(n int) []byte {
	if d.err == nil && n > len(d.rest) {
		d.err = ErrCorrupt
	}
	if d.err != nil {
		return make([]byte, min(n, len(store.WriterID{})))
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) byte() byte { return d.bytes(1)[0] }

func (d *decoder) writer() store.WriterID { return store.WriterID(d.bytes(len(store.WriterID{}))) }

func (d *decoder) varint() int64 {
	v, w := binary.Varint(d.rest)
	if d.err == nil && w <= 0 {
		d.err = ErrCorrupt
	}
	if d.err != nil {
		return 0
	}
	d.rest = d.rest[w:]
	return v
}

func (d *decoder) uvarint(most uint64) uint64 {
	v, w := binary.Uvarint(d.rest)
	if d.err == nil && (w <= 0 || v > most) {
		d.err = ErrCorrupt
	}
	if d.err != nil {
		return 0
	}
	d.rest = d.rest[w:]
	return v
}

// count returns how many elements of at least size bytes follow.
func (d *decoder) count(most uint64, size int) uint64 {
	return d.uvarint(min(most, uint64(len(d.rest)/size)))
}
