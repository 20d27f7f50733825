package model

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// compareAll compares all PVs. Its readers query the given engines for the samples in their
// memory.
func (w *world) compareAll(queried []*engine) {
	for _, ch := range w.channels {
		w.compare(ch, queried)
	}
}

// compare reads a PV in several ways, and compares the results with the model.
func (w *world) compare(ch *channel, queried []*engine) {
	x := w.expect(ch, queried)
	runs, until := w.runsUntil(ch, query.Earliest, query.Latest, query.Options{}, queried)
	all := &samples{runs: runs, bins: map[int64][]rollup.Bin{}}
	w.compareCompleteness(ch, all, until, queried)
	w.compareSamples(fmt.Sprintf("%s (%d engines queried)", ch.name, len(queried)), x, query.Earliest, query.Latest, true, all.points())
	for range 2 {
		from, to := w.anyRange(ch)
		w.compareRange(ch, x, from, to, w.rng.IntN(4) == 0, queried)
	}
	w.compareBins(ch, all, queried)
}

// compareCompleteness compares the samples in the memory of live engines with the result of a
// read. A sample that arrived before the result is complete must be in it, even if its engine was
// not queried. An engine that others declared dead does not count: a mark says that its samples
// may be missing.
func (w *world) compareCompleteness(ch *channel, all *samples, until int64, queried []*engine) {
	w.t.Helper()
	there := set{}
	there.add(all.points()...)
	claims, err := w.reader.Claims(context.Background(), w.shard)
	w.must(err)
	for _, e := range w.engines {
		if !slices.ContainsFunc(claims, func(c store.Claim) bool { return c.Writer == e.shardJournal.Writer() }) {
			continue
		}
		for _, p := range e.pending[ch.name] {
			if _, ok := there[p]; !ok && e.arrived[p] < until {
				w.fatalf("%s (%d engines queried): the result is complete until %d, but lacks %v of engine %d, which arrived at %d",
					ch.name, len(queried), until, p, e.id, e.arrived[p])
			}
		}
	}
}

// anyRange returns a random range of time, which usually contains samples of a PV.
func (w *world) anyRange(ch *channel) (from, to int64) {
	now := time.Now().UnixNano()
	from = now - w.rng.Int64N(int64(time.Duration(1+w.rng.IntN(100))*time.Hour))
	if n := len(ch.sent); n > 0 && w.rng.IntN(2) == 0 {
		from = ch.sent[w.rng.IntN(n)].time + w.rng.Int64N(3) - 1
	}
	return from, from + w.rng.Int64N(max(1, now-from)+int64(time.Hour))
}

// compareRange compares the samples of a range with those of the model.
func (w *world) compareRange(ch *channel, x expectation, from, to int64, inside bool, queried []*engine) {
	w.t.Helper()
	got := samples{runs: w.runs(ch, from, to, query.Options{Inside: inside}, queried)}
	what := fmt.Sprintf("%s in [%d, %d] (inside: %v, %d engines queried)", ch.name, from, to, inside, len(queried))
	w.compareSamples(what, x, from, to, inside, got.points())
}

// compareSamples compares the result of a read with the expectation.
func (w *world) compareSamples(what string, x expectation, from, to int64, inside bool, got []point) {
	w.t.Helper()
	in, before, sure := x.within(from, to)
	if len(got) > 0 && got[0].time < from {
		if _, ok := before[got[0]]; !ok || inside {
			w.fatalf("%s: the result begins with %v, want the last sample before the range, which is one of %v", what, got[0], before.sorted())
		}
		got = got[1:]
	} else if sure && !inside {
		w.fatalf("%s: the result begins with %v, and lacks the last sample before the range, which is one of %v", what, got[:min(1, len(got))], before.sorted())
	}
	seen := set{}
	for i, p := range got {
		_, must := in.must[p]
		_, may := in.may[p]
		if _, duplicate := seen[p]; duplicate || !must && !may {
			w.fatalf("%s: the result has the unexpected sample %v (duplicate: %v)", what, p, duplicate)
		}
		if i > 0 && p.time < got[i-1].time {
			w.fatalf("%s: sample %v comes after %v", what, p, got[i-1])
		}
		seen.add(p)
	}
	for _, p := range in.must.sorted() {
		if _, ok := seen[p]; !ok {
			w.fatalf("%s: the result has %d of %d samples; a missing sample is %v", what, len(got), len(in.must), p)
		}
	}
}

// compareBins compares the bins and the sample count of a random range with those computed
// from all samples.
func (w *world) compareBins(ch *channel, all *samples, queried []*engine) {
	w.t.Helper()
	from, to := w.anyRange(ch)
	points := 1 + w.rng.IntN([]int{5, 100, 1000}[w.rng.IntN(3)])
	empty := w.rng.IntN(3) == 0
	what := fmt.Sprintf("%s in [%d, %d] (empty: %v, %d engines queried)", ch.name, from, to, empty, len(queried))
	bins, err := w.query(queried).Bins(context.Background(), ch.name, from, to, points, query.BinOptions{Empty: empty})
	w.must(err)
	var got []rollup.Bin
	for b, err := range bins.All {
		w.must(err)
		got = append(got, *b)
	}
	n, err := w.query(queried).Count(context.Background(), ch.name, from, to, nil)
	w.must(err)
	if count := all.count(from, to); n.Stored && n.N != count {
		w.fatalf("%s: Count returns %d, want %d", what, n.N, count)
	}
	end := int64(math.MinInt64)
	for i := range got {
		b := &got[i]
		if b.Start < end {
			w.fatalf("%s: a bin that starts at %d comes after one that ends at %d", what, b.Start, end)
		}
		w.compareGap(what, all, max(end, rollup.Floor(from, bins.Width)), b.Start)
		end = b.End()
		want, ok := all.bin(b.Start, b.Width)
		if !ok && empty {
			want, ok = all.held(b.Start, b.Width)
		}
		if g, by := show(b, &want), show(&want, &want); !ok || g != by {
			w.fatalf("%s: bin %d of %d, for %d requested points, is\n%s\nbut computed from the samples (%v) it is\n%s", what, i, len(got), points, g, ok, by)
		}
	}
	w.compareGap(what, all, max(end, rollup.Floor(from, bins.Width)), rollup.Floor(to, bins.Width)+bins.Width)
}

// compareGap checks that a range without bins has no samples.
func (w *world) compareGap(what string, all *samples, from, to int64) {
	w.t.Helper()
	for _, r := range all.runs {
		for _, t := range r.Times {
			if t >= from && t < to {
				w.fatalf("%s: there is no bin in [%d, %d), but a sample at %d", what, from, to, t)
			}
		}
	}
}

// samples is the result of a read, and the bins computed from it.
type samples struct {
	runs []*sample.Run
	bins map[int64][]rollup.Bin // by width
}

// points returns the samples in the order of the read.
func (s *samples) points() (out []point) {
	for _, r := range s.runs {
		for i := range r.Len() {
			out = append(out, pointOf(r, i))
		}
	}
	return out
}

// count returns the number of samples in [from, to].
func (s *samples) count(from, to int64) (n uint64) {
	for _, r := range s.runs {
		for _, t := range r.Times {
			if t >= from && t <= to {
				n++
			}
		}
	}
	return n
}

func (s *samples) of(width int64) []rollup.Bin {
	if bins, ok := s.bins[width]; ok {
		return bins
	}
	acc := rollup.NewAccumulator(width)
	var bins []rollup.Bin
	for _, r := range s.runs {
		bins = acc.Add(bins, r, 0, r.Len())
	}
	s.bins[width] = acc.Close(bins, math.MaxInt64)
	return s.bins[width]
}

func after(b rollup.Bin, t int64) int { return int(min(1, max(-1, b.Start-t))) }

// bin returns the bin that begins at a time, if the bin has samples.
func (s *samples) bin(start, width int64) (b rollup.Bin, ok bool) {
	bins := s.of(width)
	i, ok := slices.BinarySearchFunc(bins, start, after)
	if ok {
		b = bins[i]
	}
	return b, ok
}

// held returns the bin without samples that begins at a time. It has the value that the PV
// held.
func (s *samples) held(start, width int64) (b rollup.Bin, ok bool) {
	bins := s.of(width)
	i, _ := slices.BinarySearchFunc(bins, start, after)
	if i == 0 {
		return b, false
	}
	return bins[i-1].Next(start, width), true
}

// show formats a bin for the comparison with the wanted bin. A bin that is merged from other
// bins may differ from one computed from samples in the last digits of Mean and Std, and in
// the order of its states. show hides these differences.
func show(b, want *rollup.Bin) string {
	c := *b
	spread := 1e-5 * (want.Max - want.Min)
	if math.Abs(c.Mean-want.Mean) <= spread && math.Abs(c.Std-want.Std) <= spread {
		c.Mean, c.Std = want.Mean, want.Std
	}
	c.States = slices.SortedFunc(slices.Values(c.States), func(x, y rollup.StateTime) int { return int(x.State) - int(y.State) })
	return fmt.Sprintf("%+v", c)
}
