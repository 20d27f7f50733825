package seal

import (
	"context"
	"math"
	"slices"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/store"
)

// Recent implements query.Recent. It reads the memory of the last two engines.
func (m *simulation) Recent(_ context.Context, q query.RecentRequest) query.Held {
	h := query.Held{Known: true, Shards: []int{0}}
	for _, g := range m.engines[max(0, len(m.engines)-2):] {
		if m.rng.IntN(4) > 0 {
			h.Add(query.Held{Runs: g.shardJournal.Recent(q.PV, q.From, q.To), Covers: []store.WriterID{g.shardJournal.Writer()}})
		}
	}
	return h
}

func (m *simulation) reader() *query.Reader { return &query.Reader{Store: m.st, Recent: m, Shards: 1} }

// compareBins reads a random range as bins and compares them with bins computed from the
// samples.
func (m *simulation) compareBins(pv string) {
	m.t.Helper()
	now := time.Now().UnixNano()
	from := now - m.rng.Int64N(int64(time.Duration(1+m.rng.IntN(40))*time.Hour))
	to := from + m.rng.Int64N(now-from+int64(time.Hour))
	points := 1 + m.rng.IntN([]int{5, 100, 3000}[m.rng.IntN(3)])
	empty := m.rng.IntN(2) == 0
	bins, err := m.reader().Bins(context.Background(), pv, from, to, points, query.BinOptions{Empty: empty})
	if err != nil {
		m.t.Fatal(err)
	}
	var got []rollup.Bin
	for b, err := range bins.All {
		if err != nil {
			m.t.Fatal(err)
		}
		got = append(got, *b)
	}
	for i := 1; i < len(got); i++ {
		if got[i].Start < got[i-1].End() {
			m.t.Fatalf("%s: a bin that begins at %d follows a bin that ends at %d\n%v", pv, got[i].Start, got[i-1].End(), m.trace)
		}
	}
	if len(got) == 0 || m.tier != store.Forever {
		return // the bins of expired samples can no longer be computed
	}
	width := got[0].Width
	if asked := max(1, (to-from+int64(points)-1)/int64(points)); width != bins.Width || width > asked || width*2 < asked {
		m.t.Fatalf("bins have the width %v, but the request is for %d points in %v", time.Duration(width), points, time.Duration(to-from))
	}
	n, err := m.reader().Count(context.Background(), pv, from, to, nil)
	if err != nil || n.Stored && n.N != m.count(pv, from, to) {
		m.t.Fatalf("%s: Count returns %d samples, want %d (%v)\n%v", pv, n.N, m.count(pv, from, to), err, m.trace)
	}
	want := m.binsOfSamples(pv, from, to, width, now, empty)
	if len(got) != len(want) {
		m.t.Fatalf("%s: %d bins of %v (empty: %v), but %d if computed from the samples\n%v", pv, len(got), time.Duration(width), empty, len(want), m.trace)
	}
	for i := range got {
		g, w := &got[i], &want[i]
		spread := 1e-5 * (w.Max - w.Min)
		if math.Abs(g.Mean-w.Mean) <= spread && math.Abs(g.Std-w.Std) <= spread {
			g.Mean, g.Std = w.Mean, w.Std
		}
		slices.SortFunc(g.States, func(a, b rollup.StateTime) int { return int(a.State) - int(b.State) })
		slices.SortFunc(w.States, func(a, b rollup.StateTime) int { return int(a.State) - int(b.State) })
		if !same(g, w) {
			m.t.Fatalf("%s, %d bins: bin %d is\n%+v\nwant, computed from the samples,\n%+v\n%v", pv, len(got), i, *g, *w, m.trace)
		}
	}
}

// count returns the number of samples that a read returns.
func (m *simulation) count(pv string, from, to int64) (n uint64) {
	read, err := m.reader().Read(context.Background(), pv, from, to, query.Options{Inside: true})
	if err != nil {
		m.t.Fatal(err)
	}
	for r, err := range read.All {
		if err != nil {
			m.t.Fatal(err)
		}
		n += uint64(r.Len())
	}
	return n
}

// binsOfSamples reads all samples and returns the bins computed from them.
func (m *simulation) binsOfSamples(pv string, from, to, width, now int64, empty bool) (out []rollup.Bin) {
	read, err := m.reader().Read(context.Background(), pv, query.Earliest, query.Latest, query.Options{})
	if err != nil {
		m.t.Fatal(err)
	}
	acc := rollup.NewAccumulator(width)
	var bins []rollup.Bin
	for r, err := range read.All {
		if err != nil {
			m.t.Fatal(err)
		}
		bins = acc.Add(bins, r, 0, r.Len())
	}
	bins = acc.Close(bins, math.MaxInt64)
	for at := rollup.Floor(from, width); at <= to; at += width {
		i, found := slices.BinarySearchFunc(bins, at, func(b rollup.Bin, at int64) int { return int(min(1, max(-1, b.Start-at))) })
		switch {
		case found:
			out = append(out, bins[i])
		case empty && i > 0 && at <= now:
			out = append(out, bins[i-1].Next(at, width))
		}
	}
	return out
}
