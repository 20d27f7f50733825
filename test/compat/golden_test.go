package compat

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/value"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/test/compat/golden"
)

// TestDirectoriesOfReleasesAreReadAndContinued reads the golden directory of each release, appends samples
// and seals them.
func TestDirectoriesOfReleasesAreReadAndContinued(t *testing.T) {
	for _, a := range releases(t) {
		t.Run(a.Release, func(t *testing.T) {
			st, err := pebble.Open(directory(t, &a), pebble.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			readAndContinue(t, st, &a)
		})
	}
}

// readAndContinue checks an archive, appends a round of samples, seals them, and checks the archive again.
func readAndContinue(t *testing.T, st store.Store, a *golden.Archive) {
	t.Helper()
	checkAll(t, st, a)
	if err := golden.Append(t.Context(), st, golden.Rounds); err != nil {
		t.Fatal(err)
	}
	more := golden.Expected(a.Release, a.Commit, golden.Rounds+1)
	checkAll(t, st, &more)
	if level, err := st.FormatLevel(t.Context()); err != nil || level != 5 {
		t.Errorf("the archive now has format level %d, %v; want the one that the release wrote", level, err)
	}
	died := false
	for m, err := range st.Marks(t.Context(), golden.Steady, 0, math.MaxInt64) {
		if err != nil {
			t.Fatal(err)
		}
		died = died || m.Kind == sample.Died
	}
	if !died {
		t.Error("the death of the release's engine is not marked")
	}
}

// checkAll reads every PV of an archive.
func checkAll(t *testing.T, st store.Store, a *golden.Archive) {
	t.Helper()
	r := &query.Reader{Store: st, Shards: a.Shards}
	for i := range a.PVs {
		p := &a.PVs[i]
		if typ, err := r.Type(t.Context(), p.Name); err != nil || typ.String() != p.Type {
			t.Errorf("%s has type %v, %v; want %s", p.Name, typ, err, p.Type)
		}
		if m, found, err := r.Metadata(t.Context(), p.Name, math.MaxInt64); err != nil || !found || m.Units != p.Units {
			t.Errorf("%s has units %q, %v, %v", p.Name, m.Units, found, err)
		}
		same(t, p, read(t, r, p.Name))
		checkMarks(t, st, p)
	}
	checkBins(t, r, a)
}

// read returns all samples of a PV.
func read(t *testing.T, r *query.Reader, pv string) (out []golden.Sample) {
	t.Helper()
	s, err := r.Read(t.Context(), pv, 0, math.MaxInt64, query.Options{})
	if err != nil {
		t.Fatalf("reading %s: %v", pv, err)
	}
	for run, err := range s.All {
		if err != nil {
			t.Fatalf("reading %s: %v", pv, err)
		}
		for i := range run.Len() {
			tag := run.Tags[i]
			out = append(out, golden.Sample{
				Time: time.Unix(0, run.Times[i]).UTC(), Value: value.Quoted.Append(nil, run, i), Severity: tag.Severity().String(), Status: tag.StatusName(),
			})
		}
	}
	return out
}

// same compares the samples of a PV with the expected ones.
func same(t *testing.T, p *golden.PV, got []golden.Sample) {
	t.Helper()
	if len(got) != len(p.Samples) {
		t.Errorf("%s has %d samples, want %d", p.Name, len(got), len(p.Samples))
		return
	}
	for i, want := range p.Samples {
		g := got[i]
		g.Value = golden.Short(g.Value)
		if !g.Time.Equal(want.Time) || g.Severity != want.Severity || g.Status != want.Status || !sameJSON(g.Value, want.Value) {
			t.Errorf("%s: sample %d is %v %.200s %s %s, want %v %.200s %s %s", p.Name, i,
				g.Time, g.Value, g.Severity, g.Status, want.Time, want.Value, want.Severity, want.Status)
			return
		}
	}
}

// sameJSON compares two values. Numbers are compared as text if they are whole, because float64 cannot hold
// all of them, and as numbers otherwise.
func sameJSON(a, b json.RawMessage) bool {
	decode := func(text json.RawMessage) (v any) {
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		if d.Decode(&v) != nil {
			return nil
		}
		return v
	}
	x, y := decode(a), decode(b)
	return x != nil && (reflect.DeepEqual(x, y) || reflect.DeepEqual(floats(x), floats(y)))
}

// floats replaces numbers with a point or an exponent, and whole numbers below 2⁵³, by float64.
func floats(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && (strings.ContainsAny(v.String(), ".e") || math.Abs(f) < 1<<53) {
			return f
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = floats(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k := range v {
			out[k] = floats(v[k])
		}
		return out
	}
	return v
}

// checkMarks checks that marks say when the PV was connected, and that the retired PV was removed.
func checkMarks(t *testing.T, st store.Store, p *golden.PV) {
	t.Helper()
	kinds := map[sample.MarkKind]int{}
	for m, err := range st.Marks(t.Context(), p.Name, 0, math.MaxInt64) {
		if err != nil {
			t.Fatal(err)
		}
		kinds[m.Kind]++
	}
	if kinds[sample.Connected] == 0 || kinds[sample.Stopped] == 0 || (kinds[sample.Removed] > 0) != p.Retired {
		t.Errorf("%s has the marks %v", p.Name, kinds)
	}
}

// checkBins compares the bins of the steady PV with its samples.
func checkBins(t *testing.T, r *query.Reader, a *golden.Archive) {
	t.Helper()
	levels, err := r.Levels(t.Context(), golden.Steady)
	if err != nil || len(levels) != 1 {
		t.Fatalf("%s has rollups of levels %v, %v", golden.Steady, levels, err)
	}
	type bin struct {
		count    uint64
		min, max float64
	}
	const width = int64(10 * time.Second)
	want := map[int64]bin{}
	for i := range a.PVs {
		if p := &a.PVs[i]; p.Name == golden.Steady {
			for _, s := range p.Samples {
				var v float64
				if err := json.Unmarshal(s.Value, &v); err != nil {
					t.Fatal(err)
				}
				at := s.Time.UnixNano() / width * width
				b, found := want[at]
				if !found {
					b.min, b.max = math.Inf(1), math.Inf(-1)
				}
				if b.count++; s.Severity != "INVALID" { // such a sample counts, but has no value
					b.min, b.max = min(b.min, v), max(b.max, v)
				}
				want[at] = b
			}
		}
	}
	bins, err := r.Bins(t.Context(), golden.Steady, 0, math.MaxInt64/2, 0, query.BinOptions{Width: width})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for b, err := range bins.All {
		if err != nil {
			t.Fatal(err)
		}
		w := want[b.Start]
		if b.Count != w.count || b.Max < w.max || b.Min > w.min {
			t.Errorf("the bin at %v has %d samples from %v to %v, want %+v", time.Unix(0, b.Start).UTC(), b.Count, b.Min, b.Max, w)
		}
		n++
	}
	if n != len(want) || !bins.Stored {
		t.Errorf("there are %d bins, stored %v; want %d", n, bins.Stored, len(want))
	}
}
