package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/store"
)

// Bounds of describing a PV: measuring a bucket reads the sizes of its blocks.
const (
	measuredBuckets = 100
	measureTime     = 3 * time.Second
)

// DescribePV implements store.Describer. It adds up the sizes of the blocks in the latest buckets of each
// tier. The sizes of rollups are not known.
func (s *Store) DescribePV(ctx context.Context, pv string, now int64) (d store.PVDescription, err error) {
	c, found, err := s.Channel(ctx, pv)
	if err != nil || !found {
		return d, err
	}
	hasSamples, hasRollups := c.TiersInUse()
	for tier := range store.Tier(store.NumTiers) {
		if hasSamples[tier] {
			bytes, missing, err := s.measureBlocks(ctx, &c, tier, now)
			if err != nil {
				return d, fmt.Errorf("measuring blocks of %s: %w", pv, err)
			}
			if missing != "" {
				d.Missing = missing
			}
			d.Parts = append(d.Parts, store.Part{Contents: store.SampleContents, Tier: tier, Tiered: true, Bytes: bytes})
		}
		if hasRollups[tier] {
			d.Parts = append(d.Parts, store.Part{Contents: store.RollupContents, Tier: tier, Tiered: true, Bytes: -1})
		}
	}
	return d, nil
}

// measureBlocks returns the size of the latest blocks of a PV in a tier, in all replicas. missing says why it
// does not measure all of them.
func (s *Store) measureBlocks(ctx context.Context, c *store.Channel, tier store.Tier, now int64) (bytes int64, missing string, err error) {
	var buckets []store.Bucket
	for b := range store.InUse(c.Starts, now, now) {
		if b.Tier() == tier {
			buckets = append(buckets, b)
		}
	}
	slices.SortFunc(buckets, func(a, b store.Bucket) int { return cmp.Compare(b.Start(), a.Start()) })
	if len(buckets) > measuredBuckets {
		buckets = buckets[:measuredBuckets]
		missing = fmt.Sprintf("only the samples since %s were measured", time.Unix(0, buckets[len(buckets)-1].Start()).UTC().Format(time.RFC3339))
	}
	bounded, cancel := context.WithTimeout(ctx, measureTime)
	defer cancel()
	var sum atomic.Int64
	err = each(bounded, len(buckets), parallel, func(ctx context.Context, i int) error {
		n, err := s.bytesBefore(ctx, c.PV, buckets[i], math.MaxInt64)
		sum.Add(n)
		return err
	})
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return sum.Load(), "the store did not measure all blocks in time", nil
	}
	return sum.Load(), missing, err
}
