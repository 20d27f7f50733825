package ui

import (
	"fmt"
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

// TestAlarmsAreStrips checks the colours of the strip at the bottom of a plot: each severity has its own, and a time
// without an alarm has none. Bins have that of their worst sample.
func TestAlarmsAreStrips(t *testing.T) {
	a := newArchive(t)
	severities := []sample.Severity{sample.NoAlarm, sample.Minor, sample.Major, sample.Invalid}
	for pv, step := range map[string]int64{"FEW": 60, "MANY": 1} {
		r := &sample.Run{Type: sample.Float64}
		for s := int64(0); s < 3600; s += step {
			r.Append(&sample.Sample{Time: begin + s*second, Tag: sample.MakeTag(severities[s/900], 3)})
		}
		a.put(pv, r)
	}
	for pv, mode := range map[string]string{"FEW": "samples", "MANY": "bins"} {
		p := open(t, a.server.URL+"/?pv="+pv+hour)
		p.ready(1)
		p.wait(`document.querySelector(".value").dataset.mode === "` + mode + `"`)
		for i, name := range []string{"", "minor", "major", "invalid"} {
			var same bool
			p.eval(fmt.Sprintf(`(() => { const { u } = document.querySelector(".lane-plot").plot, dot = document.createElement("canvas").getContext("2d");
				const pixel = (ctx, x, y) => [...ctx.getImageData(x, y, 1, 1).data].join();
				dot.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--%s") || "transparent";
				dot.fillRect(0, 0, 1, 1);
				return pixel(u.ctx, Math.round(u.valToPos(%f, "x", true)), u.bbox.top + u.bbox.height - 3 * devicePixelRatio) === pixel(dot, 0, 0) })()`,
				name, float64(begin)/1e6+(float64(i)*900+450)*1e3), &same)
			if !same {
				t.Errorf("the strip of %s does not have the colour of severity %d", pv, i)
			}
		}
		p.shoot("alarms-" + mode)
	}
}
