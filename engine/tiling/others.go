package tiling

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/store"
)

// OtherSealers describes the work of other sealers, as shown by a sealer's latest read of the
// shard's claims.
type OtherSealers struct {
	// At is the time of the latest read of the claims, and Before is the time of the previous
	// read, both in ns since 1970.
	At, Before int64
	// Others means that another engine seals the shard, or that it began to seal and has not
	// reported since that it follows.
	Others bool
	// Raised are the sealed positions that other sealers raised between the two reads.
	Raised []Raised
	// Gone means that a claim disappeared between the two reads, together with its rows.
	Gone bool
}

// Raised is a sealed position that another sealer raised.
type Raised struct {
	Writer    store.WriterID
	After, To store.Position
}

// Any reports whether another sealer sealed samples.
func (n *OtherSealers) Any() bool { return len(n.Raised) > 0 || n.Gone }

// mayHaveOthers reports whether another engine may have sealed since the checkpoint before the
// last one. Tiles written since then are checked once more.
func (s *Shard) mayHaveOthers() bool { return s.met && s.round-s.metAt <= 1 }

// Revise accounts for the work of other sealers of the shard, which the accumulators and tiles
// of this sealer lack. If the journal rows that the others sealed still exist, Revise revises
// the PVs in those rows. If not, it revises all PVs, for the time since one checkpoint
// interval before the previous read of the claims. A PV for which the store refuses this keeps no
// other PV waiting: Due returns it later. ErrSuperseded ends Revise at once.
func (s *Shard) Revise(ctx context.Context, seen *OtherSealers) error {
	s.at = s.cfg.Clock.StoreTime() + seen.At - time.Now().UnixNano()
	if seen.Others || seen.Any() {
		s.met, s.metAt = true, s.round
	}
	if err := s.confirm(ctx); err != nil {
		return err
	}
	spans := map[string][]span{}
	for _, r := range seen.Raised {
		if err := s.addSealedTimes(ctx, r, spans); err != nil {
			return err
		}
	}
	if seen.Gone {
		s.addToAll(spans, span{seen.Before - int64(s.cfg.Every), time.Now().UnixNano()})
	}
	var failed atomic.Int32
	if err := inParallel(ctx, slices.Sorted(maps.Keys(spans)), func(ctx context.Context, pv string) error {
		ser, err := s.series[pv], errManyFailed
		if failed.Load() < maxFailed {
			err = s.reviseSeries(ctx, ser, spans[pv])
		}
		if errors.Is(err, ErrSuperseded) {
			return err
		} else if err != nil {
			failed.Add(1)
			s.reviseLater(ser, slices.Concat(spans[pv], ser.late.now, ser.late.before), err)
		}
		return nil
	}); err != nil {
		return err
	}
	return ctx.Err()
}

// maxFailed is the number of PVs after whose failures Revise gives up. Each try may take as long as a request
// waits for the store.
const maxFailed = 32

var errManyFailed = errors.New("not tried, because requests to the store failed for many other PVs")

// reviseLater remembers spans of a PV as late, because the tiles could not be read or written.
func (s *Shard) reviseLater(ser *series, spans []span, err error) {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, errManyFailed) {
		s.cfg.Log.Warn("rollups cannot be brought up to date; the sealer tries again", "shard", s.cfg.Shard, "pv", ser.pv, "err", err)
	}
	s.noteLate(ser, spans)
	s.Hurry([]string{ser.pv})
	ser.loaded = false // some levels may not be as the store has them
}

// addSealedTimes adds the times, by PV, of the samples in journal rows that another sealer
// sealed.
func (s *Shard) addSealedTimes(ctx context.Context, raised Raised, spans map[string][]span) error {
	for row, err := range s.cfg.Store.Journal(ctx, s.cfg.Shard, raised.Writer, raised.After, raised.To) {
		if err != nil {
			return err
		}
		if row.At > raised.To {
			break
		}
		runs, err := journal.Decode(row)
		if err != nil || row.Damage != nil {
			continue // the engine that sealed the row has reported it
		}
		for _, r := range runs {
			if ser := s.series[r.PV]; ser == nil || len(ser.levels) == 0 || r.Run.Len() == 0 {
				continue
			}
			spans[r.PV] = addSpan(spans[r.PV], span{slices.Min(r.Run.Times), slices.Max(r.Run.Times)})
		}
	}
	return nil
}

// addToAll adds a span to all PVs.
func (s *Shard) addToAll(spans map[string][]span, sp span) {
	for pv, ser := range s.series {
		if len(ser.levels) > 0 {
			spans[pv] = addSpan(spans[pv], sp)
		}
	}
}

// reviseSeries recomputes the bins of a PV at the times of samples that another sealer sealed,
// and at the times of this sealer's own recent late samples.
func (s *Shard) reviseSeries(ctx context.Context, ser *series, spans []span) error {
	if err := s.refresh(ctx, ser); err != nil {
		return err
	}
	spans = slices.Concat(spans, ser.late.now, ser.late.before)
	for _, r := range ser.levels {
		if err := s.reload(ctx, ser, r); err != nil {
			return err
		}
		for _, sp := range spans {
			if err := s.repairSpan(ctx, ser, r, sp); err != nil {
				return err
			}
		}
	}
	return nil
}
