package pebble

import (
	"context"

	"varve.dev/varve/engine/store"
)

// DescribePV implements store.Describer. Samples that are still in memory or in the write-ahead log do
// not count.
func (s *Store) DescribePV(ctx context.Context, pv string, _ int64) (d store.PVDescription, err error) {
	c, found, err := s.Channel(ctx, pv)
	if err != nil || !found {
		return d, err
	}
	var samples, rollups byTier
	if err := s.measure(&c, &samples, &rollups); err != nil {
		return d, err
	}
	d.Estimated = true
	hasSamples, hasRollups := c.TiersInUse()
	for tier := range store.Tier(store.NumTiers) {
		if hasSamples[tier] {
			d.Parts = append(d.Parts, store.Part{Contents: store.SampleContents, Tier: tier, Tiered: true, Bytes: samples[tier]})
		}
		if hasRollups[tier] {
			d.Parts = append(d.Parts, store.Part{Contents: store.RollupContents, Tier: tier, Tiered: true, Bytes: rollups[tier]})
		}
	}
	return d, nil
}
