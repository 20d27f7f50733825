package scan

import (
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/varve/engine/store"
)

// TestDeletedSamplesNeverExisted scans random overlapping blocks of three writers, with random deleted ranges. The scan
// feeds the same as one of blocks that were written without the deleted samples.
func TestDeletedSamplesNeverExisted(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	bucket := store.Year.Of(1000)
	for range 3000 {
		var mask store.Mask
		for at := 1000 + rng.Int64N(100); at < 1300 && len(mask) < 3; at += 2 + rng.Int64N(60) {
			end := at + rng.Int64N(60)
			mask = append(mask, store.Deleted{From: at, To: end})
			at = end
		}
		whole, without := &changing{changed: func() {}}, &changing{changed: func() {}}
		for w := range byte(3) {
			for times := range randomBlocks(rng) {
				whole.blocks = append(whole.blocks, blockOf(w, bucket, times...))
				if times = slices.DeleteFunc(times, mask.Hides); len(times) > 0 {
					without.blocks = append(without.blocks, blockOf(w, bucket, times...))
				}
			}
		}
		byStart := func(a, b store.Block) int { return int(a.Start - b.Start) }
		slices.SortStableFunc(whole.blocks, byStart)
		slices.SortStableFunc(without.blocks, byStart)
		from := 1000 + rng.Int64N(400)
		to := from + rng.Int64N(100)
		// A scan may feed several samples before the range. Its caller takes the last one.
		read := func(st Store) []int64 {
			times := timesIn(t, st, bucket, from, to, false)
			first := slices.IndexFunc(times, func(at int64) bool { return at > from })
			if first < 0 {
				first = len(times)
			}
			return times[max(0, first-1):]
		}
		got, want := read(masked{whole, mask}), read(without)
		if !slices.Equal(got, want) {
			t.Fatalf("from %d to %d, without %v, the scan feeds %v, want %v", from, to, mask, got, want)
		}
	}
}
