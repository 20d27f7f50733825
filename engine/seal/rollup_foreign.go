package seal

import (
	"context"
	"maps"
	"slices"
	"time"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/store"
)

// looks is what a sealer saw of the claims of its shard.
type looks struct {
	at, before int64 // when it looked last, and the time before, in ns since 1970
	// sealed are the positions of all writers: as they were then, and as this sealer
	// raised them since. Nil: it has not looked yet.
	sealed map[store.WriterID]store.Position
	// metAt is the round in which somebody else was last seen to seal, or to have sealed;
	// met says that there was one.
	metAt int
	met   bool
}

// others reports whether somebody else may have sealed since the round before the last
// one: what was written then is to be looked at once more.
func (s *Shard) others() bool { return s.claims.met && s.round-s.claims.metAt <= 1 }

// news returns what other sealers did since the look before: the claims whose positions
// rose, and whether some claim is gone. At the first look nothing is known of any PV, so
// nothing is news.
func (l *looks) news(claims []store.Claim) (raised []store.Claim, gone bool) {
	if l.sealed == nil {
		return nil, false
	}
	known := 0
	for _, c := range claims {
		was, ok := l.sealed[c.Writer]
		if ok {
			known++
		}
		if c.Sealed > was {
			raised = append(raised, c)
		}
	}
	return raised, known < len(l.sealed)
}

// foreign looks for the work of other sealers of the shard, which the series,
// accumulators and tiles of this one lack. What they sealed stands in journal rows that
// are still there, or else it is something of all PVs since the last look.
func (s *Shard) foreign(ctx context.Context, claims []store.Claim) error {
	before := s.claims.sealed
	now := map[store.WriterID]store.Position{}
	for _, c := range claims {
		now[c.Writer] = c.Sealed
	}
	raised, gone := s.claims.news(claims)
	if s.meets(claims) || len(raised) > 0 || gone {
		s.claims.met, s.claims.metAt = true, s.round
	}
	if len(raised) > 0 || gone {
		s.doubt()
	}
	if err := s.confirm(ctx); err != nil {
		return err
	}
	spans := map[string][]span{}
	for _, c := range raised {
		if err := s.sealedBy(ctx, c, before[c.Writer], spans); err != nil {
			return err
		}
	}
	if gone {
		s.suspectAll(spans, span{s.claims.before - int64(s.cfg.Every), time.Now().UnixNano()})
	}
	for _, pv := range slices.Sorted(maps.Keys(spans)) {
		if err := s.revise(ctx, s.series[pv], spans[pv]); err != nil {
			return err
		}
	}
	s.claims.sealed = now
	return nil
}

// meets reports whether others than this engine seal, or once began to and did not end
// since.
func (s *Shard) meets(claims []store.Claim) bool {
	return slices.ContainsFunc(claims, func(c store.Claim) bool {
		return c.Writer != s.shardJournal.Writer() && c.Sealing != store.Follows
	})
}

// noteRaised notes that a position rose by what this sealer did.
func (s *Shard) noteRaised(w store.WriterID, to store.Position) {
	if s.claims.sealed != nil {
		s.claims.sealed[w] = to
	}
}

// sealedBy adds the times, by PV, of the samples in rows of a writer that somebody
// sealed.
func (s *Shard) sealedBy(ctx context.Context, c store.Claim, after store.Position, spans map[string][]span) error {
	for row, err := range s.cfg.Store.Journal(ctx, s.shardJournal.Shard, c.Writer, after) {
		if err != nil {
			return err
		}
		if row.At > c.Sealed {
			break
		}
		runs, err := journal.Decode(row)
		if err != nil {
			continue // who sealed it has told of it
		}
		for _, r := range runs {
			if ser := s.series[r.PV]; ser == nil || len(ser.rolls) == 0 || r.Run.Len() == 0 {
				continue
			}
			spans[r.PV] = addSpan(spans[r.PV], span{slices.Min(r.Run.Times), slices.Max(r.Run.Times)})
		}
	}
	return nil
}

// suspectAll adds a span of all PVs.
func (s *Shard) suspectAll(spans map[string][]span, sp span) {
	for pv, ser := range s.series {
		if len(ser.rolls) > 0 {
			spans[pv] = addSpan(spans[pv], sp)
		}
	}
}

// revise brings the tiles of a PV up to date with what another sealer has sealed, and
// what this one did at the same time.
func (s *Shard) revise(ctx context.Context, ser *series, spans []span) error {
	if err := s.refresh(ctx, ser); err != nil {
		return err
	}
	spans = slices.Concat(spans, ser.late.now, ser.late.before)
	for _, r := range ser.rolls {
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
