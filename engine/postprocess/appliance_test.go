package postprocess

import (
	"fmt"
	"iter"
	"math"
	"testing"

	"varve.dev/varve/engine/sample"
)

// readOf returns the samples that a read of [from, to] in seconds after base yields: those in the range, and
// the last one before it, unless there is one at its start.
func readOf(points []point, from, to float64) iter.Seq2[*sample.Run, error] {
	var in []point
	for _, p := range points {
		switch {
		case p.at > to:
		case p.at <= from:
			in = []point{p}
		default:
			in = append(in, p)
		}
	}
	return seq(runOf(sample.Float64, in...))
}

// apply applies a post-processor to a read of [from, to] in seconds after base.
func apply(t *testing.T, op string, points []point, from, to float64) string {
	t.Helper()
	at := func(s float64) int64 { return base + int64(math.Round(s*1e9)) }
	return show(t, parse(t, op).Apply(readOf(points, from, to), at(from), at(to)))
}

// TestOptimizedAsTheApplianceTestsIt checks what the Appliance's own tests expect of optimized: a sample a minute
// for a day from 10:00 on, in bins for 160 points, which have 9 minutes and begin within the range.
func TestOptimizedAsTheApplianceTestsIt(t *testing.T) {
	const minutes, ten = 24 * 60, 10 * 3600
	var points []point
	for i := range minutes + 1 {
		points = append(points, point{at: ten + float64(60*i), v: float64(i)})
	}
	f := parse(t, "optimized_160")
	n := 0
	for r, err := range f.Apply(readOf(points, ten, ten+minutes*60), base+ten*second, base+(ten+minutes*60)*second) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Len() {
			if first := float64(9*(n-1) + 3); n > 0 && n < 160 { // the first and the last bin are not full
				// Nine consecutive numbers have the deviation √(60/8).
				want := fmt.Sprintf("[%.6g,%.6g,%.6g,%.6g,9]", first+4, math.Sqrt(7.5), first, first+8)
				if got := showValue(r, i); got != want {
					t.Errorf("bin %d is %s, want %s", n, got, want)
				}
			}
			n++
		}
	}
	if n != 161 {
		t.Errorf("optimized_160 gives %d bins", n)
	}
	if got := apply(t, "optimized_10000", points, ten, ten+60*59); len(got) == 0 || got != apply(t, "nth_1", points, ten, ten+60*59) {
		t.Errorf("optimized of fewer samples than points gives %s", got)
	}
}

// TestSampleBeforeTheRange checks which samples few points have, for ranges around samples every 10 s, as the
// Appliance's own tests expect it.
func TestSampleBeforeTheRange(t *testing.T) {
	var points []point
	for i := range 6 {
		points = append(points, point{at: float64(10 * i), v: float64(i)})
	}
	for _, c := range []struct {
		from, to float64
		want     string
	}{
		{-0.002, -0.001, ""},
		{-0.002, 0, "0:0"},
		{-0.002, 0.001, "0:0"},
		{0, 9.999, "0:0"},
		{29.999, 29.999, "20:2"},
		{29.999, 30.02, "20:2 30:3"},
		{30, 30.02, "30:3"},
		{31, 32, "30:3"},
		{49.999, 51, "40:4 50:5"},
		{50, 51, "50:5"},
		{51, 52, "50:5"},
	} {
		for _, op := range []string{"optimized_9", "optimLastSample_9", "optimizedSample_9"} {
			if got := apply(t, op, points, c.from, c.to); got != c.want {
				t.Errorf("%s from %g to %g gives %q, want %q", op, c.from, c.to, got, c.want)
			}
		}
	}
}

// TestBinsAsDocumented checks the documentation of the Appliance: two samples are in one bin if their seconds,
// divided by the width, round down to the same number. The width is 900 s by default.
func TestBinsAsDocumented(t *testing.T) {
	points := []point{{0, 1, 0}, {899.999, 3, 0}, {900, 5, 0}, {3599.999, 7, 0}, {3600, 9, 0}}
	for _, c := range []struct{ op, want string }{
		{"mean_3600", "1800:4 5400:9"},
		{"mean", "450:2 1350:5 2250:5 3150:7 4050:9"},
		{"count", "450:2 1350:1 2250:0 3150:1 4050:1"},
		{"countSample_900", "450:2 1350:1 3150:1 4050:1"},
		{"firstSample", "0:1 900:5 3599.999:7 3600:9"},
		{"lastSample", "899.999:3 900:5 3599.999:7 3600:9"},
		{"firstFill", "450:1 1350:5 2250:5 3150:7 4050:9"},
		{"lastFill", "450:3 1350:5 2250:5 3150:7 4050:9"},
		{"nth_2", "0:1 900:5 3600:9"},
		{"nth", "0:1"},
		{"deadBand", "0:1 899.999:3 900:5 3599.999:7 3600:9"},
		{"deadBand_2", "0:1 900:5 3600:9"},
		{"caplotbinning_3600", "0:1 900:1 1800:7 2700:7 3600:9"},
		{"linear_3600", "1800:5.66667 5400:9"}, // 5 + 2·900/2699.999, the first
	} {
		if got := apply(t, c.op, points, 0, 3600); got != c.want {
			t.Errorf("%s gives %s, want %s", c.op, got, c.want)
		}
	}
	// The middle of a bin whose width is odd is half a second after a whole one.
	for op, want := range map[string]string{"mean_5": "2.5:2 7.5:7", "lastFill_5": "2.5:4 7.5:9", "linear_5": "2.5:2.5 7.5:7.5"} {
		if got := apply(t, op, []point{{0, 0, 0}, {1, 1, 0}, {2, 2, 0}, {3, 3, 0}, {4, 4, 0}, {5, 5, 0}, {6, 6, 0}, {7, 7, 0}, {8, 8, 0}, {9, 9, 0}}, 0, 9); got != want {
			t.Errorf("%s gives %s, want %s", op, got, want)
		}
	}
}

// TestSeverityOfEmptyBins checks that an empty bin repeats the severity of the bin before it, except for a count
// of 0, which is no alarm, and that optimLastSample does the same.
func TestSeverityOfEmptyBins(t *testing.T) {
	points := []point{{0, 1, 0}, {1, 3, sample.Minor}, {25, 5, sample.Major}}
	for op, want := range map[string]string{
		"mean_10":           "5:2/MIN 15:2/MIN 25:5/MAJ",
		"count_10":          "5:2/MIN 15:0 25:1/MAJ",
		"maxSample_10":      "5:3/MIN 25:5/MAJ",
		"firstFill_10":      "5:1 15:1 25:5/MAJ",
		"lastFill_10":       "5:3/MIN 15:3/MIN 25:5/MAJ",
		"optimLastSample_2": "6:[2,1.41421,1,3,2,3]/MIN 18:[3,0,3,3,0,3]/MIN 30:[5,0,5,5,1,5]/MAJ", // bins of 12 s
	} {
		if got := apply(t, op, points, 0, 25); got != want {
			t.Errorf("%s gives %s, want %s", op, got, want)
		}
	}
}
