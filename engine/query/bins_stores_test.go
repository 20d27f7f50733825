package query_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
	"varve.dev/varve/engine/store/cassandra/cql"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/cassandra"
)

// TestBinsInPebble and TestLong_BinsInCassandra read the bins of some days of a PV and compare
// them with bins computed from the samples. The store is filled as a sealer fills it.
func TestBinsInPebble(t *testing.T) {
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	binsEqualSamples(t, st)
}

func TestLong_BinsInCassandra(t *testing.T) {
	cfg := cql.Config{Hosts: []string{cassandra.Start(t).Addr()}, Keyspace: "bins"}
	if err := schema.Create(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	st, err := cassandrastore.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	binsEqualSamples(t, st)
}

func binsEqualSamples(t *testing.T, st store.Store) {
	const span = 3 * 24 * time.Hour
	s := &wave{TB: t, st: st, bytes: map[store.Level]int{}}
	s.fill(span)
	r := &query.Reader{Store: st, Shards: shards}
	for _, c := range []struct {
		from, to time.Duration
		points   int
	}{
		{0, span, 10}, {0, span, 1000}, {-time.Hour, span + time.Hour, 100}, {25 * time.Hour, 26 * time.Hour, 2000},
		{30 * time.Hour, 30*time.Hour + time.Minute, 5}, {47*time.Hour + 7*time.Second, 60*time.Hour + time.Nanosecond, 333},
	} {
		from, to := start+int64(c.from), start+int64(c.to)
		bins, err := r.Bins(t.Context(), drawnPV, from, to, c.points, query.BinOptions{})
		s.check(err)
		var got []rollup.Bin
		for b, err := range bins.All {
			s.check(err)
			got = append(got, *b)
		}
		want := s.computed(r, from, to, bins.Width)
		if len(got) != len(want) || len(want) < c.points/2 {
			t.Fatalf("%v to %v: the read yields %d bins of %v, but %d bins are computed from the samples", c.from, c.to, len(got), time.Duration(bins.Width), len(want))
		}
		for i := range got {
			g, w := &got[i], &want[i]
			near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*(w.Max-w.Min) }
			if g.Start != w.Start || g.Count != w.Count || g.Covered != w.Covered || g.Min != w.Min || g.Max != w.Max ||
				g.First != w.First || g.Last != w.Last || !near(g.Mean, w.Mean) || !near(g.Std, w.Std) {
				t.Fatalf("%v to %v: a bin is %+v, but %+v if computed from the samples", c.from, c.to, *g, *w)
			}
		}
		n, err := r.Count(t.Context(), drawnPV, from, to, nil)
		if want := min(to, start+int64(span))/1e9 - max(from, start)/1e9; err != nil || n.Stored && int64(n.N) != want {
			t.Errorf("%v to %v: counted %d samples (%v), want %d", c.from, c.to, n.N, err, want)
		}
	}
}

// computed computes bins from the samples that a read yields.
func (s *wave) computed(r *query.Reader, from, to, width int64) []rollup.Bin {
	from, to = rollup.Floor(from, width), rollup.Floor(to, width)+width-1
	read, err := r.Read(context.Background(), drawnPV, from, to, query.Options{})
	s.check(err)
	acc := rollup.NewAccumulator(width)
	var bins []rollup.Bin
	for run, err := range read.All {
		s.check(err)
		bins = acc.Add(bins, run, 0, run.Len())
	}
	bins = acc.Close(bins, math.MaxInt64)
	return slices.DeleteFunc(bins, func(b rollup.Bin) bool { return b.Start < from })
}
