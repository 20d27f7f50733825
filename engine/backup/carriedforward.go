package backup

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/retry"
	"varve.dev/varve/engine/store"
)

// carries is how often the original of a carried-forward sample is read until both agree.
const carries = 10

// carriedForward copies the original of a carried-forward sample that is later than all samples of the PV that were copied: it was
// sealed after its bucket was copied. Otherwise the copy would have a carried-forward sample without its original. If that
// bucket has even later samples by now, the carried-forward sample is read again, because the sealer replaces it then.
// A restore writes these blocks after all others.
func (c *creator) carriedForward(ctx context.Context, grown *packer, a *area, carried store.Block) error {
	found := map[store.BlockKey]store.Block{}
	wait := retry.Backoff{Min: 20 * time.Millisecond, Max: 500 * time.Millisecond}
	for range carries {
		last, err := c.originals(ctx, a, &carried, found)
		if err != nil {
			return err
		}
		if last <= carried.End {
			break
		}
		if carried, err = c.carriedAgain(ctx, carried); err != nil {
			return err
		}
		if carried.End < last && !wait.Wait(ctx) {
			return ctx.Err()
		}
	}
	found[carried.BlockKey] = carried
	for _, k := range slices.SortedFunc(maps.Keys(found), compareKeys) {
		b := found[k]
		if err := grown.add(ctx, &b); err != nil {
			return err
		}
		a.latest = max(a.latest, b.End)
	}
	return nil
}

// originals adds the blocks with samples from the time of a carried-forward sample to its bucket. It returns the time of the
// last of these samples, as far as headers say.
func (c *creator) originals(ctx context.Context, a *area, carried *store.Block, found map[store.BlockKey]store.Block) (last int64, err error) {
	before := carried.Bucket.Start() - 1
	for _, b := range a.buckets {
		if carried.End < b.Start() || carried.End >= b.End() {
			continue
		}
		for blk, err := range c.store.Blocks(ctx, a.pv, b, carried.End, before) {
			if err != nil {
				return 0, err
			}
			if blk.Damage != nil || blk.Count == 0 {
				continue // a damaged block is noted when its bucket is copied
			}
			found[blk.BlockKey] = blk
			if blk.End <= before {
				last = max(last, blk.End)
			}
		}
	}
	return last, nil
}

// carriedAgain returns the latest carried-forward sample of the same bucket.
func (c *creator) carriedAgain(ctx context.Context, carried store.Block) (store.Block, error) {
	for blk, err := range c.store.Blocks(ctx, carried.PV, carried.Bucket, math.MinInt64, carried.Bucket.Start()) {
		if err != nil {
			return carried, err
		}
		if blk.Count == 0 && blk.Damage == nil && blk.End >= carried.End {
			carried = blk
		}
	}
	return carried, nil
}

func compareKeys(a, b store.BlockKey) int {
	return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Start, b.Start), bytes.Compare(a.Writer[:], b.Writer[:]), cmp.Compare(a.N, b.N))
}
