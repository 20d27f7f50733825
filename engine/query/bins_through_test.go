package query_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"testing"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// TestTilesBehindTheSeam reads bins of an archive with tiles, and of an older archive, around several seams, and
// compares them with bins computed from the samples of both.
func TestTilesBehindTheSeam(t *testing.T) {
	const span = 6 * time.Hour
	stores := [2]*pebble.Store{}
	for i := range stores {
		st, err := pebble.Open(t.TempDir(), pebble.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		stores[i] = st
	}
	s := &wave{TB: t, st: stores[0], bytes: map[store.Level]int{}}
	s.fill(span)
	old := &sample.Run{Type: sample.Float64}
	for at := start - int64(span); at < start-int64(2*time.Minute); at += int64(10 * time.Second) {
		old.Append(&sample.Sample{Time: at + 3, Word: math.Float64bits(float64(at % 97))})
	}
	s.check(stores[1].AddChannel(t.Context(), store.Channel{PV: drawnPV, Types: []sample.Type{old.Type}, Starts: []store.Bucket{store.Year.Of(old.Times[0])}}))
	s.check(stores[1].PutBlocks(t.Context(), store.Block{
		BlockKey: store.BlockKey{PV: drawnPV, Bucket: store.Year.Of(old.Times[0]), Start: old.Times[0], Writer: store.WriterID{1}, N: 1},
		End:      old.Times[old.Len()-1], Count: old.Len(), Type: old.Type, Blob: block.Append(nil, old),
	}))
	older := &query.Reader{Store: stores[1], Shards: shards}
	samples := func(ctx context.Context, pv string, from, to int64) iter.Seq2[*sample.Run, error] {
		read, err := older.Read(ctx, pv, from, to, query.Options{})
		s.check(err)
		return read.All
	}
	// The marks are written from the last seam to the first: the first mark counts.
	for i, seam := range []time.Duration{time.Hour + 5500*time.Millisecond, 7 * time.Second, 0, -90 * time.Second} {
		s.check(stores[0].PutMarks(t.Context(), store.PVMark{PV: drawnPV, Writer: store.WriterID{byte(i + 1)}, Mark: sample.Mark{Time: start + int64(seam), Kind: sample.Connected}}))
		r := &query.Reader{Store: stores[0], Shards: shards, Through: &query.Through{Samples: samples}}
		for _, opts := range []struct {
			from, to time.Duration
			points   int
		}{{-span, span, 40}, {-span, span, 700}, {-time.Hour, time.Hour, 1000}, {-5 * time.Minute, 2 * span, 10}, {2 * time.Hour, span, 100}} {
			compareBins(s, r, fmt.Sprint("seam ", seam, ", range ", opts), start+int64(opts.from), start+int64(opts.to), opts.points)
		}
		n, err := r.Count(t.Context(), drawnPV, start-int64(span), start+int64(span), nil)
		if want := uint64(old.Len()) + uint64(span/time.Second); err != nil || n.Stored && n.N != want {
			t.Errorf("seam %v: counted %+v, %v, want %d", seam, n, err, want)
		}
	}
}

// compareBins compares the bins of a range with those that are computed from samples.
func compareBins(s *wave, r *query.Reader, name string, from, to int64, points int) {
	s.Helper()
	bins, err := r.Bins(context.Background(), drawnPV, from, to, points, query.BinOptions{})
	s.check(err)
	want := s.computed(r, from, to, bins.Width)
	for b, err := range bins.All {
		s.check(err)
		if len(want) == 0 {
			s.Fatalf("%s: there are more bins than those computed from samples", name)
		}
		if g, w := b, &want[0]; !sameBin(g, w) {
			s.Fatalf("%s: a bin of %v is %+v, but %+v if computed from the samples", name, time.Duration(bins.Width), *g, *w)
		}
		want = want[1:]
	}
	if len(want) > 0 {
		s.Fatalf("%s: %d bins are missing", name, len(want))
	}
}

func sameBin(g, w *rollup.Bin) bool {
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*(w.Max-w.Min) }
	return g.Start == w.Start && g.Width == w.Width && g.Count == w.Count && g.Covered == w.Covered && g.Min == w.Min && g.Max == w.Max &&
		g.First == w.First && g.Last == w.Last && near(g.Mean, w.Mean) && near(g.Std, w.Std)
}
