package promapi

import (
	"context"
	"iter"
	"math"
	"sort"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
)

// series is the points of a PV.
type series struct {
	times  []int64
	values []float64
	// until is the time until which the samples are complete, and lost is the number of samples in
	// damaged blocks.
	until int64
	lost  uint64
	// refused says why the PV has no points, or is nil.
	refused error
}

func (s *series) add(at int64, v float64) {
	s.times, s.values = append(s.times, at), append(s.values, v)
}

// maxSkipped is how many samples between two points are read. If there are more, the read starts again
// at the next point. So the effort depends on the number of points rather than on that of samples.
const maxSkipped = 100_000

// held is one read of the values that a PV has at times.
type held struct {
	series
	g       grid
	k       int64 // the next point
	lost    query.Losses
	unknown []query.Unknown

	has   bool // there is a sample
	at    int64
	value float64
	valid bool // the sample has a value
}

// held returns the values that a PV has at times: its last sample at or before each.
func (h *Handler) held(ctx context.Context, pv string, g grid) (series, error) {
	r := held{g: g, series: series{until: query.Latest}}
	var err error
	if g.n > 0 {
		r.unknown, err = h.Reader.Unknowns(ctx, pv, g.start, g.last())
	}
	for err == nil && r.k < r.g.n {
		var read *query.Samples
		if read, err = h.Reader.Read(ctx, pv, r.g.at(r.k), r.g.last(), query.Options{Lost: &r.lost}); err == nil {
			if r.until = min(r.until, read.CompleteUntil); r.until < r.g.last() {
				r.g.cut(r.until)
			}
			err = r.scan(read.All)
		}
	}
	r.series.lost = r.lost.Count()
	return r.series, err
}

// scan fills points from samples. It returns early if too many samples are between two points.
func (r *held) scan(samples iter.Seq2[*sample.Run, error]) error {
	r.has = false
	skipped := 0
	for run, err := range samples {
		if err != nil {
			return err
		}
		for i := 0; i < run.Len() && r.k < r.g.n; {
			next := i + sort.Search(run.Len()-i, func(j int) bool { return run.Times[i+j] > r.g.at(r.k) })
			if next > i {
				r.hold(run, next-1)
			}
			if i = next; i < run.Len() {
				r.fill(run.Times[i])
				skipped = 0
			}
		}
		if skipped += run.Len(); skipped > maxSkipped && r.has && r.at < r.g.at(min(r.k, r.g.n-1)) {
			return nil
		}
	}
	r.fill(math.MaxInt64)
	return nil
}

func (r *held) hold(run *sample.Run, i int) {
	r.has, r.at = true, run.Times[i]
	kind := rollup.KindOf(run.Type)
	if r.valid = (kind == rollup.Number || kind == rollup.Choice) && !rollup.Undefined(run.Tags[i]); r.valid {
		r.value = run.Float(i)
	}
}

// fill fills the points before a time.
func (r *held) fill(before int64) {
	for ; r.k < r.g.n && r.g.at(r.k) < before; r.k++ {
		if at := r.g.at(r.k); r.has && r.valid && r.isKnown(at) {
			r.add(at, r.value)
		}
	}
}

// isKnown reports whether no sample is missing between the latest one and a point.
func (r *held) isKnown(at int64) bool {
	for len(r.unknown) > 0 && min(r.unknown[0].To, r.unknown[0].Until) < r.at {
		r.unknown = r.unknown[1:]
	}
	for i := range r.unknown {
		u := &r.unknown[i]
		if u.From > at {
			break
		}
		if at < u.To && r.at <= u.Until {
			return false
		}
	}
	for _, m := range r.lost.Marks() {
		if m.Time <= at && r.at < min(m.End, at) {
			return false
		}
	}
	return true
}
