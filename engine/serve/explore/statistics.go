package explore

import (
	"context"
	"math"
	"net/http"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/stream"
)

const (
	// exactSamples is the maximum number of samples in a range whose statistics come from its samples.
	exactSamples = 500_000
	// statisticBins is about how many bins a longer range has.
	statisticBins = 2000
)

// statistics are those of a PV in a range. Times without updates do not count.
type statistics struct {
	PV   string `json:"pv"`
	Kind string `json:"kind"` // as in series
	// Source is "samples" or, if there are too many or they have expired, "bins".
	Source string `json:"source"`
	Count  uint64 `json:"count"`
	// Min, Max, Mean and Std are of the finite values that the PV held, weighted by time. They are
	// absent if it held none, and Mean and Std also if it held it for no time.
	Min  *float64 `json:"min,omitempty"`
	Max  *float64 `json:"max,omitempty"`
	Mean *float64 `json:"mean,omitempty"`
	Std  *float64 `json:"std,omitempty"`
	// Covered is the share of the range, up to now, in which a value is known.
	Covered float64 `json:"covered"`
	// LeftOut is how many seconds of the range, up to now, no statistic counts: the samples of these times
	// have expired, and the bins that summarize them exceed the range. These times are no part of Covered.
	LeftOut float64 `json:"leftOut,omitempty"`
	// Alarm has the seconds with each severity. A bin counts with its highest one.
	Alarm         map[string]float64 `json:"alarm"`
	CompleteUntil string             `json:"completeUntil,omitempty"`
	Lost          uint64             `json:"lost,omitempty"`
	// GapsLeftOutFrom is the time from which gaps count as times with values, because there are too many.
	GapsLeftOutFrom string `json:"gapsLeftOutFrom,omitempty"`
}

// statistics answers the statistics of PVs in a range.
func (h *Handler) statistics(w http.ResponseWriter, r *http.Request, q *openapi.Query) {
	h.answerEach(w, r, q, func(ctx context.Context, pv string, s span) (any, error) {
		return h.statisticsOf(ctx, pv, s.from, s.to, exactSamples)
	})
}

// statisticsOf returns the statistics of a PV in [from, to]:
//
//	few samples ──────────────────────────────▶ moments ──▶ statistics
//	many ──▶ bins within the range ─────────────┤
//	     └─▶ samples before and after the bins ─┘
//
// exact is the maximum number of samples of which each is read.
func (h *Handler) statisticsOf(ctx context.Context, pv string, from, to int64, exact int) (*statistics, error) {
	gaps, err := h.gapsOf(ctx, pv, from, to, maxGaps)
	if err != nil {
		return nil, err
	}
	expired, err := h.reader.ExpiredUntil(ctx, pv)
	if err != nil {
		return nil, err
	}
	now := h.now().UnixNano()
	s := &summing{reader: h.reader, pv: pv, now: now, until: min(to, now), expired: expired, complete: math.MaxInt64}
	source, whole := "samples", false
	if from >= expired {
		s.moments = newMoments(gaps)
		if whole, err = s.addSamples(ctx, from, to+1, exact); err != nil {
			return nil, err
		}
	}
	if !whole {
		source, s.moments = "bins", newMoments(gaps)
		if err := s.addBins(ctx, from, to+1); err != nil {
			return nil, err
		}
	}
	out := s.moments.result(s.until - from)
	out.PV, out.Source, out.Lost, out.GapsLeftOutFrom = pvname.Canonical(pv), source, s.lost, gaps.LeftOutFrom
	out.LeftOut = float64(s.leftOut) / 1e9
	if s.complete < to {
		out.CompleteUntil = stream.Until(s.complete)
	}
	return out, nil
}

// summing reads the samples and bins of a PV for its moments.
type summing struct {
	reader   *query.Reader
	pv       string
	now      int64
	until    int64 // the last sample is held until then
	expired  int64 // samples before it have expired
	leftOut  int64 // as statistics.LeftOut, in ns
	moments  *moments
	lost     uint64 // samples in damaged blocks
	complete int64  // as query.Samples.CompleteUntil
}

// addSamples adds the samples in [from, to), and the value that is held at from. It returns false if
// there are more samples than most.
func (s *summing) addSamples(ctx context.Context, from, to int64, most int) (bool, error) {
	if to <= from {
		return true, nil
	}
	var lost query.Losses
	read, err := s.reader.Read(ctx, s.pv, from, to-1, query.Options{Lost: &lost})
	if err != nil {
		return false, err
	}
	s.complete = min(s.complete, read.CompleteUntil)
	n := 0
	var last held
	for r, err := range read.All {
		if err != nil {
			return false, err
		}
		if n += r.Len(); n > most {
			return false, nil
		}
		for i, at := range r.Times {
			s.moments.hold(&last, max(last.since, from), min(at, to))
			last = heldBy(r, i)
			if at >= from {
				s.moments.sample(&last)
			}
		}
	}
	s.moments.hold(&last, max(last.since, from), min(to, s.until))
	s.lost += lost.Count()
	return true, nil
}

// leaveOut notes that no bin counts the expired samples in [from, to).
func (s *summing) leaveOut(from, to int64) {
	if to = min(to, s.expired, s.until); from < to {
		s.leftOut += to - from
	}
}

// addRest adds the samples in [from, to), of which no bin is counted, without those that have expired.
func (s *summing) addRest(ctx context.Context, from, to int64) error {
	s.leaveOut(from, to)
	_, err := s.addSamples(ctx, max(from, s.expired), to, math.MaxInt)
	return err
}

// width returns the width of the bins of a range, in ns. Where samples have expired, it is a multiple of the
// width of stored bins. A range that begins within a stored bin would otherwise begin with narrow bins, which
// repeat the value before the stored bin.
func (s *summing) width(ctx context.Context, from, to int64) (int64, error) {
	width := gridWidth(from, to, statisticBins)
	if from >= s.expired {
		return width, nil
	}
	ch, _, err := s.reader.Store.Channel(ctx, pvname.Canonical(s.pv))
	if err != nil {
		return 0, err
	}
	var finest int64
	for _, l := range ch.Levels {
		if !l.Valid() {
			continue
		}
		expires, ends := l.Expires(l.Tile(from))
		if every := int64(l.Every()); (finest == 0 || every < finest) && (!ends || expires > s.now) {
			finest = every
		}
	}
	if finest == 0 {
		return width, nil
	}
	return (width + finest - 1) / finest * finest, nil
}

// addBins adds the bins within [from, to), and the samples before and after them that have not expired.
func (s *summing) addBins(ctx context.Context, from, to int64) error {
	width, err := s.width(ctx, from, to)
	if err != nil {
		return err
	}
	first, end := rollup.Floor(from+width-1, width), rollup.Floor(to, width)
	if err = s.addRest(ctx, from, min(first, to)); err != nil {
		return err
	}
	if first < end {
		var lost query.Losses
		bins, err := s.reader.Bins(ctx, s.pv, first, end-1, 1, query.BinOptions{First: true, Empty: true, Width: width, Lost: &lost})
		if err != nil {
			return err
		}
		s.complete = min(s.complete, bins.CompleteUntil)
		for b, err := range bins.All {
			if err != nil {
				return err
			}
			if b.Start >= from && b.End() <= to { // a wide bin of expired samples may exceed the range
				s.moments.bin(b, s.until)
			} else {
				s.leaveOut(max(b.Start, first), min(b.End(), end))
			}
		}
		s.lost += lost.Count()
	}
	return s.addRest(ctx, max(end, first), to)
}

// held is a value that a PV holds since a time, in ns since 1970.
type held struct {
	exists   bool
	since    int64
	kind     rollup.Kind
	value    float64 // NaN if it is no number, or undefined
	severity sample.Severity
}

func heldBy(r *sample.Run, i int) held {
	out := held{exists: true, since: r.Times[i], kind: rollup.KindOf(r.Type), value: math.NaN(), severity: r.Tags[i].Severity()}
	if (out.kind == rollup.Number || out.kind == rollup.Choice) && !rollup.Undefined(r.Tags[i]) {
		out.value = r.Float(i)
	}
	return out
}

// gapTimes returns the times of gaps, in order.
func gapTimes(g *gapsOf) [][2]int64 {
	var out [][2]int64
	for i := range g.Gaps {
		lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
		if t, err := time.Parse(time.RFC3339Nano, g.Gaps[i].From); err == nil {
			lo = t.UnixNano()
		}
		if t, err := time.Parse(time.RFC3339Nano, g.Gaps[i].To); err == nil {
			hi = t.UnixNano()
		}
		out = append(out, [2]int64{lo, hi})
	}
	return out
}
