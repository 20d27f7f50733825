package serve

import (
	"context"
	"encoding/json"
	"strings"
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

// TestUseReduced checks that usereduced reads the means of rollups, also where samples have expired,
// and all samples of a PV without rollups.
func TestUseReduced(t *testing.T) {
	r := newRig(t)
	r.rollUp("X", store.LevelOf(time.Minute, store.Forever), ramp(newYear-3600*second, 3601)) // without samples; the last bin is not complete
	r.put("Y", ramp(newYear-10*second, 10), 1)
	const hour = "&from=2025-12-31T23:00:00Z&to=2025-12-31T23:59:59Z"
	code, got := r.get("/retrieval/data/getData.csv?usereduced=true&pv=X" + hour)
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if code != 200 || len(lines) != 60 || lines[0] != "1767222030,29.5,0,0,0" || lines[59] != "1767225570,3569.5,0,0,0" {
		t.Errorf("the means are %d %s", code, got)
	}
	if _, got := r.get("/retrieval/data/getData.csv?usereduced=false&pv=X" + hour); got != "" {
		t.Errorf("the samples are %s", got)
	}
	if _, got := r.get("/retrieval/data/getData.csv?usereduced=true&pv=Y" + hour); strings.Count(got, "\n") != 10 {
		t.Errorf("a PV without rollups has %s", got)
	}
	if _, got := r.get("/retrieval/data/getData.csv?usereduced=true&pv=ncount(Y)" + hour); got != "1767222000,10,0,0,0\n" {
		t.Errorf("a post-processor returns %s", got)
	}
}
