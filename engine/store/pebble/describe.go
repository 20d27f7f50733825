package pebble

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"varve.dev/varve/engine/store"
)

// describedPVs is how many PVs are measured to estimate the sizes of tiers. Buckets of different
// tiers are next to each other, so a tier has no size that could be read at once.
const describedPVs = 2000

// Describe implements store.Describer. Rows that are still in memory or in the write-ahead log count
// as other contents.
func (s *Store) Describe(ctx context.Context) (store.Description, error) {
	d := store.Description{Kind: "Pebble", Where: s.dir, Disk: s.disk(), Replicas: 1}
	total, err := s.Size(ctx)
	if err != nil {
		return d, err
	}
	sums := map[store.Contents]int64{}
	for table, contents := range map[byte]store.Contents{
		tableHeader: store.SampleContents, tableBlob: store.SampleContents, tableRollup: store.RollupContents, tableJournal: store.JournalContents,
	} {
		n, err := s.db.EstimateDiskUsage([]byte{table}, []byte{table + 1})
		if err != nil {
			return d, err
		}
		sums[contents] += int64(n)
	}
	samples, rollups, err := s.measureTiers(ctx)
	if err != nil {
		return d, err
	}
	d.Estimated = true
	d.Parts = append(split(store.SampleContents, sums[store.SampleContents], samples), split(store.RollupContents, sums[store.RollupContents], rollups)...)
	rest := total
	for _, n := range sums {
		rest -= n
	}
	d.Parts = append(d.Parts, store.Part{Contents: store.JournalContents, Bytes: sums[store.JournalContents]},
		store.Part{Contents: store.OtherContents, Bytes: max(0, rest)})
	return d, nil
}

// disk returns the disk of the directory, or nil if it cannot be inspected.
func (s *Store) disk() *store.Disk {
	if s.dir == "" { // in memory
		return nil
	}
	usage, err := vfs.Default.GetDiskUsage(s.dir)
	if err != nil {
		return nil
	}
	return &store.Disk{Size: int64(usage.TotalBytes), Free: int64(usage.AvailBytes)}
}

// byTier holds a size for each tier.
type byTier [store.NumTiers]int64

// split divides a sum among the tiers, in proportion to what was measured of them.
func split(contents store.Contents, sum int64, measured byTier) (parts []store.Part) {
	all := int64(0)
	for _, n := range measured {
		all += n
	}
	if all == 0 {
		if sum == 0 {
			return nil
		}
		return []store.Part{{Contents: contents, Bytes: sum}}
	}
	rest := sum
	for tier, n := range measured {
		if n > 0 {
			bytes := int64(float64(sum) * float64(n) / float64(all))
			rest -= bytes
			parts = append(parts, store.Part{Contents: contents, Tier: store.Tier(tier), Tiered: true, Bytes: bytes})
		}
	}
	parts[0].Bytes += rest // what rounding leaves
	return parts
}

// measureTiers measures the samples and the rollups of some PVs in each tier.
func (s *Store) measureTiers(ctx context.Context) (samples, rollups byTier, err error) {
	chosen, err := s.choosePVs(ctx)
	if err != nil {
		return samples, rollups, err
	}
	for i := range chosen {
		if ctx.Err() != nil {
			return samples, rollups, ctx.Err()
		}
		if err := s.measure(&chosen[i], &samples, &rollups); err != nil {
			return samples, rollups, err
		}
	}
	return samples, rollups, nil
}

// choosePVs returns the directory entries of some PVs, each of which is as likely as any other.
func (s *Store) choosePVs(ctx context.Context) (chosen []store.Channel, err error) {
	seen, random := 0, rand.New(rand.NewPCG(1, 2)) // the same PVs each time
	for c, err := range s.Channels(ctx) {
		if err != nil {
			return nil, err
		}
		if seen++; len(chosen) < describedPVs {
			chosen = append(chosen, c)
		} else if i := random.IntN(seen); i < describedPVs {
			chosen[i] = c
		}
	}
	return chosen, nil
}

// measure adds the sizes of a PV.
func (s *Store) measure(c *store.Channel, samples, rollups *byTier) error {
	var tiers []store.Tier
	for _, b := range c.Starts {
		if t := b.Tier(); t.Valid() && !slices.Contains(tiers, t) {
			tiers = append(tiers, t)
		}
	}
	for _, tier := range tiers {
		first, end := tier.Buckets()
		for _, table := range []byte{tableHeader, tableBlob} {
			if err := usage(s.db, bucketKey(table, c.PV, first), bucketKey(table, c.PV, end), &samples[tier]); err != nil {
				return err
			}
		}
	}
	for _, l := range c.Levels {
		if !l.Valid() {
			continue
		}
		if err := usage(s.db, levelKey(c.PV, l), levelKey(c.PV, l+1), &rollups[l.Tier()]); err != nil {
			return err
		}
	}
	return nil
}

// usage adds the size of a range of keys to a sum.
func usage(db *pebble.DB, from, to []byte, sum *int64) error {
	n, err := db.EstimateDiskUsage(from, to)
	*sum += int64(n)
	return err
}
