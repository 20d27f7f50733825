package scan

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// changing is a store of blocks in one bucket. After each call of LastBlock it calls changed.
type changing struct {
	blocks  []store.Block
	changed func()
}

func (c *changing) Blocks(_ context.Context, _ string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		for _, blk := range c.blocks {
			if blk.Bucket == b && blk.End >= from && blk.Start <= to && !yield(blk, nil) {
				return
			}
		}
	}
}

func (c *changing) LastBlock(_ context.Context, _ string, b store.Bucket, at int64) (last store.Block, found bool, err error) {
	for _, blk := range c.blocks {
		if blk.Bucket == b && blk.Start <= at && (!found || blk.End >= last.End) {
			last, found = blk, true
		}
	}
	c.changed()
	return last, found, nil
}

// blockOf returns a block of writer w with samples of the years' first bucket.
func blockOf(w byte, bucket store.Bucket, times ...int64) store.Block {
	r := &sample.Run{Type: sample.Int64}
	for _, at := range times {
		r.Append(&sample.Sample{Time: at, Word: uint64(at)})
	}
	return store.Block{
		BlockKey: store.BlockKey{PV: "PV", Bucket: bucket, Start: times[0], Writer: store.WriterID{w}},
		End:      times[len(times)-1], Count: r.Len(), Type: r.Type, Blob: block.AppendStored(nil, r),
	}
}

// randomBlocks yields the times of the samples in the blocks of one writer, from about 1000 to 1400.
func randomBlocks(rng *rand.Rand) iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		for at := int64(1000) + rng.Int64N(50); at < 1400; {
			var times []int64
			for range 1 + rng.IntN(20) {
				times = append(times, at)
				at += 1 + rng.Int64N(10)
			}
			if !yield(times) {
				return
			}
		}
	}
}

// timesIn returns the times of the samples that a scan of a range feeds.
func timesIn(t *testing.T, st Store, bucket store.Bucket, from, to int64, reuse bool) (times []int64) {
	t.Helper()
	sc := &Scan{Store: st, PV: "PV", From: from, To: to, Now: to, Reuse: reuse}
	sc.Prepare([]store.Bucket{bucket})
	err := sc.Run(t.Context(), func(*sample.Run) {}, func(r *sample.Run, i, j int) bool {
		times = append(times, r.Times[i:j]...)
		for k := i; k < j; k++ {
			if r.Words[k] != uint64(r.Times[k]) {
				t.Errorf("the sample at %d has the value %d", r.Times[k], r.Words[k])
			}
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return times
}

// TestScanReadsABlockThatIsWrittenAgain checks that the merge does not use what lookBack decoded, if
// the block got more samples in between.
func TestScanReadsABlockThatIsWrittenAgain(t *testing.T) {
	bucket := store.Year.Of(1000)
	st := &changing{blocks: []store.Block{blockOf(1, bucket, 1000, 2000)}}
	st.changed = func() { st.blocks[0] = blockOf(1, bucket, 1000, 2000, 3000, 4000) }
	if got, want := timesIn(t, st, bucket, 2500, 3500, false), []int64{2000, 3000, 4000}; !slices.Equal(got, want) {
		t.Errorf("the scan feeds %v, want %v", got, want)
	}
}

// TestScansReuseMemory checks scans of random overlapping blocks of two writers with the memory of
// earlier scans: they feed the same samples as scans with memory of their own.
func TestScansReuseMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	bucket := store.Year.Of(1000)
	for range 500 {
		st := &changing{changed: func() {}}
		for w := range byte(2) {
			for times := range randomBlocks(rng) {
				st.blocks = append(st.blocks, blockOf(w, bucket, times...))
			}
		}
		slices.SortFunc(st.blocks, func(a, b store.Block) int { return int(a.Start - b.Start) })
		from := 1000 + rng.Int64N(400)
		to := from + rng.Int64N(100)
		if got, want := timesIn(t, st, bucket, from, to, true), timesIn(t, st, bucket, from, to, false); !slices.Equal(got, want) {
			t.Fatalf("from %d to %d, the scan feeds %v, want %v", from, to, got, want)
		}
	}
}
