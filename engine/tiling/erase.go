package tiling

import (
	"context"
	"slices"

	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/store"
)

// Erase removes the samples of ranges that users have deleted from the tiles of a PV. The directory already has the
// ranges. The sealer has forgotten the PV before, so no accumulator has samples of the ranges.
//
//	          from                       to
//	│ recomputed │ removed │ removed │ recomputed │ no samples │ recomputed: it begins with the value before
//
// Where samples have expired, bins cannot be computed again. Bins there that overlap a range, and the first bin after
// it, are removed.
func (s *Shard) Erase(ctx context.Context, pv string, ranges store.Mask) error {
	ser := &series{pv: pv, entry: new(layout.Entry)}
	if err := s.refresh(ctx, ser); err != nil {
		return err
	}
	if len(ser.entry.Starts) == 0 || len(ser.entry.Levels) == 0 {
		return nil
	}
	whole := max(s.cfg.Cutoff(), scan.WholeSince(ser.entry.Starts, s.cfg.Clock.Now().Now))
	d := lateness{cutoff: s.cfg.Cutoff()}
	for _, r := range ranges.Within(ser.entry.Earliest(), s.cfg.Clock.Now().Now) {
		for _, l := range ser.entry.Levels {
			if err := s.eraseBins(ctx, ser, l, r, whole); err != nil {
				return err
			}
		}
		d.spans = append(d.spans, span{r.From, r.From}, span{r.To, r.To})
	}
	if len(d.spans) == 0 {
		return nil
	}
	delete(s.series, pv)
	return s.correct(ctx, pv, &d)
}

// eraseBins removes the bins of a level of which all samples are in a range. Of the bins that begin before the time
// whole, it removes those that overlap the range, and the first one after it.
func (s *Shard) eraseBins(ctx context.Context, ser *series, l store.Level, r store.Deleted, whole int64) error {
	if !l.Valid() {
		return nil
	}
	next := r.To < whole // the first bin after the range is still to be removed
	last := l.Tile(r.To)
	if next {
		last = l.Tile(max(r.To, whole))
	}
	for row, err := range s.cfg.Store.Rollups(ctx, ser.pv, l, l.Tile(r.From), last) {
		if err != nil {
			return err
		}
		var t rollup.Tile
		if err := rollup.Decode(&t, &row); err != nil {
			s.reportDamaged(&row, err)
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(t.Bins), func(b rollup.Bin) bool {
			switch {
			case b.Start > r.To && b.Start < whole && next:
				next = false
				return true
			case b.End() <= r.From || b.Start > r.To:
				return false
			}
			return b.Start < whole || r.From <= b.Start && b.End()-1 <= r.To
		})
		if len(kept) == len(t.Bins) {
			continue
		}
		t.Bins = kept
		if err := s.replaceTile(ctx, &row, &t); err != nil {
			return err
		}
	}
	return nil
}

// replaceTile writes a tile with other bins over the row that it was read from.
func (s *Shard) replaceTile(ctx context.Context, row *store.Rollup, t *rollup.Tile) error {
	if err := s.cfg.MayWrite(ctx); err != nil {
		return err
	}
	row.Blob, row.Stamp = rollup.Append(nil, t), stampAfter(max(s.cfg.Clock.StoreTime(), row.Stamp))
	return s.cfg.Store.PutRollups(ctx, *row)
}
