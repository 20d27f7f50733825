package ui

import (
	"math"
	"testing"

	"varve.dev/varve/engine/sample"
)

// TestStatisticsComeFromTheArchive selects a part of a plot of 100,000 samples in wide bins, at times on
// no grid, and checks its statistics against the samples.
func TestStatisticsComeFromTheArchive(t *testing.T) {
	a := newArchive(t)
	r := &sample.Run{Type: sample.Float64}
	const n, step, inBlock = 100_000, second / 50, 20_000
	for i := range int64(n) {
		severity := sample.NoAlarm
		if i%100 < 25 {
			severity = sample.Major
		}
		r.Append(&sample.Sample{Time: begin + i*step, Word: math.Float64bits(float64(i % 1000)), Tag: sample.MakeTag(severity, 3)})
		if r.Len() == inBlock {
			a.put("STAT", r)
			r.Reset(r.Type)
		}
	}
	p := open(t, a.server.URL+"/?pv=STAT&pv=NEVER&window=2026-01-01T12:05:00.010Z/2026-01-01T12:07:00.010Z"+hour)
	p.wait(`document.querySelector(".value[data-pv=STAT]")?.dataset.mode === "bins" && document.querySelector(".selection tr[data-pv=STAT]")`)
	var got struct {
		Samples, Min, Max, Mean, Std, Covered float64
		Text                                  string
	}
	p.eval(`(({ dataset: d, innerText }) => ({ samples: +d.samples, min: +d.min, max: +d.max, mean: +d.mean, std: +d.std, covered: +d.covered, text: innerText }))(document.querySelector(".selection tr[data-pv=STAT]"))`, &got)
	if got.Samples != 6000 || got.Min != 0 || got.Max != 999 || math.Abs(got.Mean-499.5) > 1e-6 || math.Abs(got.Std-math.Sqrt((1e6-1)/12)) > 1e-6 || got.Covered != 1 {
		t.Errorf("the statistics are %+v", got)
	}
	p.text(".selection tr[data-pv=STAT]", "MAJOR 30 s")
	p.text(".selection [role=alert]", "NEVER")
	p.shoot("statistics")
}
