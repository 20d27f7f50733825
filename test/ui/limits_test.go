package ui

import (
	"fmt"
	"math"
	"testing"

	"github.com/chromedp/chromedp"

	"varve.dev/varve/engine/sample"
)

// TestAlarmLimitsHaveAHistory checks that the limits in a plot are those of /api/v1/metadata, and that
// each is drawn only while it was valid.
func TestAlarmLimitsHaveAHistory(t *testing.T) {
	a := newArchive(t)
	a.fill()
	nan := math.NaN()
	limits := func(low, high, hihi float64) (m sample.Metadata) {
		m.Units = "mA"
		m.SetLimits([8]float64{nan, nan, low, high, nan, hihi, nan, nan})
		return m
	}
	a.metadataFrom("SR:CURRENT", 0, limits(120, 280, 350))
	a.metadataFrom("SR:CURRENT", 1800, limits(80, 290, nan))
	p := open(t, a.server.URL+"/?pv=SR:CURRENT"+hour)
	p.ready(1)
	before := p.scales("mA")
	p.choose("SR:CURRENT", "Alarm limits")
	p.wait(`location.search.includes("limits=SR:CURRENT") && document.querySelector(".lane-plot").plot.traces()[0].limits?.length === 2`)
	p.run(chromedp.Reload())
	p.ready(1)
	p.wait(`document.querySelector(".lane-plot").plot.traces()[0].limits?.length === 2`)
	var got struct{ Drawn, Archived []string }
	p.eval(`fetch("api/v1/metadata?pv=SR:CURRENT&from=2026-01-01T12:00:00Z&to=2026-01-01T13:00:00Z").then((r) => r.json()).then((a) => ({
		archived: a.history.map((h) => [Date.parse(h.since), h.limits.alarmLow, h.limits.warnLow, h.limits.warnHigh, h.limits.alarmHigh].join()),
		drawn: document.querySelector(".lane-plot").plot.traces()[0].limits.map((l) => [l.lo, l.LOLO, l.LOW, l.HIGH, l.HIHI].join()) }))`, &got)
	if len(got.Drawn) != 2 || fmt.Sprint(got.Drawn) != fmt.Sprint(got.Archived) {
		t.Errorf("the plot has the limits %q, and the archive %q", got.Drawn, got.Archived)
	}
	if after := p.scales("mA"); after.Y[1] < 350 || before.Y[1] > 350 {
		t.Errorf("the axis ends at %g without the limits, and at %g with them", before.Y[1], after.Y[1])
	}
	// color is what is drawn at a time in s and a value.
	color := func(s, v float64) (rgba [4]int) {
		p.eval(fmt.Sprintf(`(() => { const { u } = document.querySelector(".lane-plot").plot;
			return [...u.ctx.getImageData(Math.round(u.valToPos(%f, "x", true)), Math.round(u.valToPos(%f, "y", true)), 1, 1).data] })()`, float64(begin)/1e6+s*1000, v), &rgba)
		return rgba
	}
	if early, late := color(903, 356), color(2703, 356); early == late {
		t.Errorf("beyond HIHI the plot has the colour %v, and also where there is no HIHI", early)
	}
	p.hover("mA", 0.25, 0.9)
	p.wait(`document.querySelector(".limits").innerText === "LOW 120 · HIGH 280 · HIHI 350"`)
	p.hover("mA", 0.75, 0.9)
	p.wait(`document.querySelector(".limits").innerText === "LOW 80 · HIGH 290"`)
	p.shoot("limits")
	p.choose("SR:CURRENT", "Alarm limits")
	p.wait(`!location.search.includes("limits=") && !document.querySelector(".lane-plot").plot.traces()[0].limits`)
}
