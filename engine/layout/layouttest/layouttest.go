// Package layouttest checks blocks that tests of sealing and relocation write:
//
//	blocks of one step ─▶ Blocks.Put: checks each ─▶ Blocks: the latest version of each
package layouttest

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Blocks holds the blocks that a store would have: the latest version of each block.
type Blocks map[store.BlockKey]store.Block

// Put stores blocks in the order in which they are acknowledged, and checks the rules for
// blocks after each of them.
func (bs Blocks) Put(t *testing.T, blocks []store.Block) {
	t.Helper()
	for _, b := range blocks {
		r := Decode(t, b)
		if old, ok := bs[b.BlockKey]; ok {
			now := Samples(r)
			for key := range Samples(Decode(t, old)) {
				if !now[key] {
					t.Fatalf("block %v lost a sample as it grew", b.BlockKey)
				}
			}
		}
		bs[b.BlockKey] = b
		if b.Count == 0 {
			continue
		}
		if r.Len() != b.Count || b.End != r.Times[r.Len()-1] || !slices.IsSorted(r.Times) {
			t.Fatalf("block %v: count %d, end %d; its blob holds %d samples from %d to %d",
				b.BlockKey, b.Count, b.End, r.Len(), r.Times[0], r.Times[r.Len()-1])
		}
		if r.Times[0] < b.Bucket.Start() || b.End >= b.Bucket.End() || b.Start != r.Times[0] {
			t.Fatalf("block %v has samples from %d to %d", b.BlockKey, r.Times[0], b.End)
		}
	}
}

// Samples returns the set of all samples except carried-forward copies.
func (bs Blocks) Samples(t *testing.T) map[string]bool {
	t.Helper()
	set := map[string]bool{}
	for _, b := range bs {
		for k := range Samples(Decode(t, b)) {
			set[k] = true
		}
	}
	return set
}

// Decode returns the samples of a block.
func Decode(t *testing.T, b store.Block) *sample.Run {
	t.Helper()
	r := &sample.Run{}
	if err := block.Decode(r, b.Blob); err != nil {
		t.Fatal(err)
	}
	return r
}

// Samples returns the set of the samples of a run except carried-forward copies. Samples that
// differ have different keys.
func Samples(r *sample.Run) map[string]bool {
	set := make(map[string]bool, r.Len())
	var key []byte
	for i := range r.Len() {
		s := r.At(i)
		if s.Tag&sample.CarriedForward == 0 {
			key = binary.AppendVarint(append(key[:0], byte(r.Type)), s.Time) // fmt is slow with the race detector
			key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(s.Tag)), s.Word)
			set[string(append(key, s.Bytes...))] = true
		}
	}
	return set
}

// Numbers returns a run of numbers with the given times.
func Numbers(times ...int64) *sample.Run {
	r := &sample.Run{Type: sample.Float64}
	for _, t := range times {
		r.Append(&sample.Sample{Time: t, Word: math.Float64bits(float64(t % 1000))})
	}
	return r
}
