package explore

import (
	"context"
	"math"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// statisticsBy returns the statistics of X from samples and from bins.
func (a *archive) statisticsBy(now int64, from, to float64) (exact, binned *statistics) {
	a.t.Helper()
	h := a.handler(now)
	at := func(s float64) int64 { return at + int64(s*1e9) }
	exact, err := h.statisticsOf(context.Background(), "X", at(from), at(to), exactSamples)
	if err == nil {
		binned, err = h.statisticsOf(context.Background(), "X", at(from), at(to), 0)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	if exact.Source != "samples" || binned.Source != "bins" && exact.Count > 0 {
		a.t.Fatalf("the statistics come from %s and %s", exact.Source, binned.Source)
	}
	return exact, binned
}

// near reports whether a number is known, and is about v.
func near(got *float64, v float64) bool {
	return got != nil && math.Abs(*got-v) <= 1e-9*max(1, math.Abs(v))
}

// TestStatistics checks statistics that follow from known samples: 1 from 0 s, 3 from 10 s, in alarm, and
// 2 from 15 s on, with a gap from 20 to 30 s.
func TestStatistics(t *testing.T) {
	a := newArchive(t)
	a.put(0, 1)
	r := &sample.Run{Type: sample.Float64}
	r.Append(&sample.Sample{Time: at + 10e9, Word: math.Float64bits(3), Tag: sample.MakeTag(sample.Major, 3)})
	a.add(r)
	a.put(15, 2)
	for _, m := range []sample.Mark{{Time: at, Kind: sample.Connected}, {Time: at + 20e9, Kind: sample.Disconnected}, {Time: at + 30e9, Kind: sample.Connected}} {
		if err := a.store.PutMarks(t.Context(), store.PVMark{PV: "X", Mark: m}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name string, s *statistics, count uint64, low, high, mean, std, covered, major float64) {
		t.Helper()
		if s.Count != count || !near(s.Min, low) || !near(s.Max, high) || !near(s.Mean, mean) || !near(s.Std, std) ||
			math.Abs(s.Covered-covered) > 1e-9 || math.Abs(s.Alarm["MAJOR"]-major) > 1e-9 || s.Kind != "number" {
			text := func(v *float64) any {
				if v == nil {
					return nil
				}
				return *v
			}
			t.Errorf("%s: %+v with min %v, max %v, mean %v, std %v", name, s, text(s.Min), text(s.Max), text(s.Mean), text(s.Std))
		}
	}
	// From 5 to 35 s: 1 for 5 s, 3 for 5 s, 2 for 10 s.
	exact, binned := a.statisticsBy(at+3600e9, 5, 35)
	check("samples", exact, 2, 1, 3, 2, math.Sqrt(0.5), 20.0/30, 5)
	check("bins", binned, 2, 1, 3, 2, math.Sqrt(0.5), 20.0/30, 5)
	// The last value is held until now, at 17 s.
	exact, binned = a.statisticsBy(at+17e9, 5, 35)
	check("samples until now", exact, 2, 1, 3, (5+15+4)/12.0, math.Sqrt((5+45+8)/12.0-4), 1, 5)
	check("bins until now", binned, 2, 1, 3, (5+15+4)/12.0, math.Sqrt((5+45+8)/12.0-4), 1, 5)
	// Ends that are on no grid.
	exact, binned = a.statisticsBy(at+3600e9, 5.0123456, 34.987654321)
	if !near(binned.Mean, *exact.Mean) || math.Abs(binned.Covered-exact.Covered) > 1e-3 || binned.Count != exact.Count {
		t.Errorf("between odd times, samples yield %+v and bins %+v", exact, binned)
	}
	// A gap only.
	exact, binned = a.statisticsBy(at+3600e9, 21, 29)
	for _, s := range []*statistics{exact, binned} {
		if s.Count != 0 || s.Mean != nil || s.Covered != 0 {
			t.Errorf("in a gap, the statistics are %+v", s)
		}
	}
	// Before the first sample.
	if exact, _ = a.statisticsBy(at+3600e9, -20, -10); exact.Count != 0 || exact.Min != nil || exact.Covered != 0 {
		t.Errorf("before the first sample, the statistics are %+v", exact)
	}
}

// TestStatisticsOfOtherValues checks values that are not finite: they count as samples only.
func TestStatisticsOfOtherValues(t *testing.T) {
	a := newArchive(t)
	a.put(0, math.Inf(1), 10, math.NaN(), 20, 5)
	exact, _ := a.statisticsBy(at+3600e9, 0, 30)
	if exact.Count != 3 || !near(exact.Min, 5) || !near(exact.Max, 5) || !near(exact.Mean, 5) || !near(exact.Std, 0) {
		t.Errorf("the statistics are %+v", exact)
	}
}
