package backup

import (
	"encoding/binary"
	"math"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// reader reads the fields of a row. After the first truncated field all fields are zero, and end returns an error.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) uint8() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// bool refuses bytes other than 0 and 1, so that each row has one encoding.
func (r *reader) bool() bool {
	v := r.uint8()
	r.bad = r.bad || v > 1
	return v == 1
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) int64() int64 { return int64(r.uint64()) }

func (r *reader) float() float64 { return math.Float64frombits(r.uint64()) }

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || n > 1 && r.rest[n-1] == 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// varint reads a zigzag number.
func (r *reader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// number reads a number that is at most the given one.
func (r *reader) number(most uint64) int {
	v := r.uvarint()
	if v > most {
		r.bad = true
		return 0
	}
	return int(v)
}

func (r *reader) bytes() []byte { return r.take(r.uvarint()) }

func (r *reader) string() string { return string(r.bytes()) }

func (r *reader) writer() (w store.WriterID) {
	copy(w[:], r.take(uint64(len(w))))
	return w
}

// length reads the number of elements that follow. Each takes at least size bytes, so a damaged length
// cannot make the reader reserve more memory than the row has.
func (r *reader) length(size int) int { return r.number(uint64(len(r.rest) / size)) }

// decodeRow decodes a row that appendRow has encoded. Its blobs are slices of b.
func decodeRow(b []byte) (row any, k kind, err error) {
	r := &reader{rest: b}
	k = kind(r.uint8())
	switch k {
	case kindClaim:
		row = r.claim()
	case kindJournal:
		row = &store.JournalRow{
			Shard: r.number(math.MaxInt32), Writer: r.writer(), At: store.Position(r.uint64()), Index: r.bytes(), Blob: r.bytes(),
		}
	case kindChannel:
		row = r.channel()
	case kindBlock:
		row = r.block()
	case kindRollup:
		row = &store.Rollup{PV: r.string(), Level: store.Level(r.int64()), Tile: store.Tile(r.int64()), Stamp: r.int64(), Blob: r.bytes()}
	case kindMark:
		row = r.mark()
	case kindMetadata:
		row = &store.PVMetadata{PV: r.string(), Time: r.int64(), Metadata: r.metadata()}
	case kindCutoff:
		row = &store.Cutoff{
			By: r.writer(), Before: r.int64(), At: r.int64(), Size: r.int64(), Limit: r.int64(), Settled: r.int64(), Peak: r.int64(), Open: r.bool(),
		}
	case kindProgress:
		row = &store.CutoffProgress{Shard: r.number(math.MaxInt32), Cutoff: r.int64(), Buckets: r.int64(), Bytes: r.int64()}
	default:
		return nil, k, errCorrupt
	}
	if r.bad || len(r.rest) > 0 {
		return nil, k, errCorrupt
	}
	return row, k, nil
}

func (r *reader) claim() *store.Claim {
	return &store.Claim{
		Shard: r.number(math.MaxInt32), Writer: r.writer(), Epoch: r.uint64(), Since: r.int64(), Alive: r.int64(),
		Sealed: store.Position(r.uint64()), Last: store.Position(r.uint64()), Sealing: store.Term(r.uint64()), Saved: r.int64(), Closed: r.bool(),
	}
}

func (r *reader) block() *store.Block {
	b := new(store.Block)
	b.PV, b.Bucket, b.Start, b.Writer, b.N = r.string(), store.Bucket(r.int64()), r.int64(), r.writer(), uint32(r.number(math.MaxUint32))
	b.End, b.Count, b.Type = r.int64(), r.number(math.MaxUint32), sample.Type(r.uint8())
	b.Min, b.Max, b.Sum, b.Blob = r.float(), r.float(), r.float(), r.bytes()
	return b
}

func (r *reader) mark() *store.PVMark {
	m := &store.PVMark{PV: r.string()}
	m.Time, m.Kind, m.Reason, m.Writer = r.int64(), sample.MarkKind(r.uint8()), sample.Reason(r.uint8()), r.writer()
	m.End, m.Count, m.Text = r.int64(), r.uvarint(), r.string()
	return m
}

func (r *reader) channel() *store.Channel {
	c := &store.Channel{PV: r.string()}
	for range r.length(1) {
		c.Shards = append(c.Shards, int(r.varint()))
	}
	for range r.length(8) {
		c.Starts = append(c.Starts, store.Bucket(r.int64()))
	}
	for range r.length(1) {
		c.Types = append(c.Types, sample.Type(r.uint8()))
	}
	for range r.length(8) {
		c.Levels = append(c.Levels, store.Level(r.int64()))
	}
	for range r.length(17) {
		c.Deleted = append(c.Deleted, store.Deleted{From: r.int64(), To: r.int64(), Done: r.bool()})
	}
	return c
}

func (r *reader) metadata() (m sample.Metadata) {
	m.Type, m.Count, m.Precision = sample.Type(r.uint8()), int(r.varint()), int(r.varint())
	var limits [8]float64
	for i := range limits {
		limits[i] = r.float()
	}
	m.SetLimits(limits)
	m.Units, m.Host = r.string(), r.string()
	for range r.length(1) {
		m.Labels = append(m.Labels, r.string())
	}
	for range r.length(2) {
		m.Properties = append(m.Properties, sample.Property{Name: r.string(), Value: r.string()})
	}
	return m
}
