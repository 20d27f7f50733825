package serve

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// rollUp stores the rollups of a run, without its samples.
func (r *rig) rollUp(pv string, l store.Level, run *sample.Run) {
	r.addChannel(pv, run.Type, run.Times[0])
	r.check(r.store.AddChannel(context.Background(), store.Channel{PV: pv, Levels: []store.Level{l}}))
	acc := rollup.NewAccumulator(int64(l.Every()))
	bins := acc.Add(nil, run, 0, run.Len())
	for len(bins) > 0 {
		t := rollup.Tile{Level: l, Tile: l.Tile(bins[0].Start)}
		t.Since, t.Through = t.Start(), t.End()
		n := 0
		for n < len(bins) && bins[n].Start < t.End() {
			n++
		}
		t.Bins, bins = bins[:n], bins[n:]
		r.check(r.store.PutRollups(context.Background(), store.Rollup{
			PV: pv, Level: l, Tile: t.Tile, Stamp: newYear, Blob: rollup.Append(nil, &t),
		}))
	}
}

// TestLongRangesComeFromBins checks that optimized and ncount are computed from stored bins
// for a long range, and from samples for a short range.
func TestLongRangesComeFromBins(t *testing.T) {
	r := newRig(t)
	const minutes = 18 * 24 * 60
	from := newYear - minutes*60*second
	r.rollUp("X", store.LevelOf(time.Minute, store.Forever), ramp(from, minutes*60+1)) // the last bin is not complete
	read := func(query string) (data []struct {
		Secs int64
		Val  any
	}) {
		code, text := r.get("/retrieval/data/getData.json?" + query + "&to=2025-12-31T23:59:59Z")
		var got []struct{ Data json.RawMessage }
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != 200 {
			t.Fatalf("the query %s returns %d %v\n%s", query, code, err, text)
		}
		if len(got) > 0 {
			r.check(json.Unmarshal(got[0].Data, &data))
		}
		return data
	}
	// This is the number of samples in 99 bins of 259 minutes. The ends of the range are
	// counted from samples, and there are none.
	if got := read("pv=ncount(X)&from=2025-12-14T00:00:00Z"); len(got) != 1 || got[0].Val != 99*259*60.0 {
		t.Errorf("ncount returns %v", got)
	}
	got := read("pv=optimized_431(X)&from=2025-12-14T00:00:00Z")
	if len(got) != 432 {
		t.Fatalf("optimized_431 returns %d bins", len(got))
	}
	for i, b := range got {
		v, ok := b.Val.([]any)
		if !ok || len(v) != 5 || b.Secs != from/second+int64(i)*3600+1800 || v[2] != float64(max(0, i*3600)) || v[3] != float64(i*3600+3599) || v[4] != 3600.0 {
			t.Fatalf("bin %d is %+v", i, b)
		}
	}
	if got := read("pv=optimized_432(X)&from=2025-12-31T00:00:00Z"); len(got) != 0 {
		t.Errorf("a short range without samples returns %v", got)
	}
}
