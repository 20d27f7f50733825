package tiling

import (
	"cmp"
	"context"
	"slices"
	"time"

	"varve.dev/varve/engine/layout"
	"varve.dev/varve/engine/store"
)

// lateness is what a sealer remembers of the late samples of a PV until it has corrected the tiles:
//
//	Acknowledge ─▶ spans ── no late samples for a while, or for too long ──▶ Due ─▶ Correct ─▶ tiles
type lateness struct {
	spans []span // times of the samples, at most maxSpans
	n     uint64 // counts, from 1 on, in the order in which PVs became late
	// since is when the first of the samples came, and latest is when the last one came.
	since, latest time.Time
	urgent        bool      // the correction must not wait for more late samples
	retry         time.Time // when to try again, after an error
	// cutoff is the deletion cutoff at the time since. Samples after it are not deleted before the
	// correction.
	cutoff int64
}

// retryLate is how long a PV waits after an error, so that it does not keep other PVs waiting.
const retryLate = time.Minute

// noteLate remembers the times of late samples of a PV.
func (s *Shard) noteLate(ser *series, spans []span) {
	s.lateMu.Lock()
	defer s.lateMu.Unlock()
	now := time.Now()
	d := s.late[ser.pv]
	if d == nil {
		s.becameLate++
		d = &lateness{n: s.becameLate, since: now, cutoff: s.cfg.Cutoff()}
		s.late[ser.pv] = d
	}
	d.latest = now
	for _, sp := range spans {
		d.spans = joinSpan(d.spans, sp, ser.joinGap())
	}
}

// joinGap returns the longest time between two spans of late samples that are corrected as one.
func (s *series) joinGap() int64 {
	gap := int64(0)
	for i, r := range s.levels {
		if g := r.joinGap(); i == 0 || g < gap {
			gap = g
		}
	}
	return gap
}

func (r *level) joinGap() int64 { return r.width * store.TileBins / 4 }

func (s *Shard) latenessOf(pv string) *lateness {
	s.lateMu.Lock()
	defer s.lateMu.Unlock()
	return s.late[pv]
}

// IsLate reports whether the tiles of a PV lack late samples.
func (s *Shard) IsLate(pv string) bool { return s.latenessOf(pv) != nil }

// Late returns the PVs whose tiles lack late samples.
func (s *Shard) Late() (pvs []string) {
	s.lateMu.Lock()
	defer s.lateMu.Unlock()
	for pv := range s.late {
		pvs = append(pvs, pv)
	}
	return pvs
}

// LateNumber returns the number of the late samples of a PV that the tiles lack, or 0 if the tiles
// lack none. Once LateNumber returns another number than n, the tiles include all late samples of the PV that
// were acknowledged while it returned n.
func (s *Shard) LateNumber(pv string) uint64 {
	if d := s.latenessOf(pv); d != nil {
		return d.n
	}
	return 0
}

// Hurry makes the corrections of PVs due at once.
func (s *Shard) Hurry(pvs []string) {
	for _, pv := range pvs {
		if d := s.latenessOf(pv); d != nil {
			d.urgent = true
		}
	}
}

// Pace says when corrections are due.
type Pace struct {
	// Quiet is the time without late samples of a PV after which its tiles are corrected. Age is
	// the longest time that late samples wait. If they are 0, corrections do not wait.
	Quiet, Age time.Duration
	// Most is how many PVs are due at once.
	Most int
}

// Due returns the PVs whose tiles must be corrected now: those that Hurry named come first, then
// the others in the order in which they became late.
func (s *Shard) Due(p Pace) []string {
	s.lateMu.Lock()
	defer s.lateMu.Unlock()
	var due []string
	for pv, d := range s.late {
		if now := time.Now(); !now.Before(d.retry) && (d.urgent || now.Sub(d.latest) >= p.Quiet || now.Sub(d.since) >= p.Age) {
			due = append(due, pv)
		}
	}
	slices.SortFunc(due, func(a, b string) int {
		x, y := s.late[a], s.late[b]
		if x.urgent != y.urgent {
			if x.urgent {
				return -1
			}
			return 1
		}
		return cmp.Compare(x.n, y.n)
	})
	return due[:min(len(due), p.Most)]
}

// Correct recomputes the bins in tiles that the late samples of a PV change. Calls for different PVs
// may run at the same time.
func (s *Shard) Correct(ctx context.Context, pv string) error {
	d := s.latenessOf(pv)
	if d == nil {
		return nil
	}
	if err := s.correct(ctx, pv, d); err != nil {
		d.retry = time.Now().Add(retryLate)
		return err
	}
	s.cfg.Metrics.Corrected.Inc()
	s.lateMu.Lock()
	defer s.lateMu.Unlock()
	delete(s.late, pv)
	return nil
}

func (s *Shard) correct(ctx context.Context, pv string, d *lateness) error {
	ser := s.series[pv]
	if ser == nil { // the sealer has forgotten the PV
		ser = &series{pv: pv, entry: new(layout.Entry)}
	}
	if err := s.refresh(ctx, ser); err != nil {
		return err
	}
	if !ser.loaded {
		if err := s.loadLevels(ctx, ser); err != nil {
			return err
		}
		ser.loaded = true
	}
	ser.cutoff = &d.cutoff
	defer func() { ser.cutoff = nil }()
	for _, r := range ser.levels {
		if s.mayHaveOthers() {
			if err := s.compareLevel(ctx, ser, r); err != nil {
				return err
			}
		}
		for _, sp := range mergeSpans(d.spans, r.joinGap()) {
			if err := s.repairSpan(ctx, ser, r, sp); err != nil {
				return err
			}
		}
	}
	ser.late.note(s.round, d.spans)
	return nil
}
