package ui

import (
	"fmt"
	"math"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"varve.dev/varve/engine/sample"
)

// TestShiftedTrace plots a PV together with its samples of a day and of 36 hours before, and checks that
// these are the samples that the archive has of those times. Gaps are shifted, too.
func TestShiftedTrace(t *testing.T) {
	a := newArchive(t)
	a.fill()
	const day = 86400
	for n := range int64(3) { // the samples of a bucket of a year follow each other
		a.put("SR:DAILY", floats(n*day, n*day+3600, 60, func(s float64) float64 { return s / 1000 }))
	}
	a.mark("SR:DAILY", sample.Mark{Time: begin - second, Kind: sample.Connected, Text: "10.0.0.7:5064"})
	a.mark("SR:DAILY", sample.Mark{Time: begin + (day+600)*second, Kind: sample.Disconnected, Text: "10.0.0.7:5064"})
	a.mark("SR:DAILY", sample.Mark{Time: begin + (day+900)*second, Kind: sample.Connected, Text: "10.0.0.7:5064"})
	p := open(t, a.server.URL+"/?pv=SR:DAILY&from=2026-01-03T12:00:00.000Z&to=2026-01-03T13:00:00.000Z&utc=1")
	p.ready(1)
	p.choose("SR:DAILY", "1 d before")
	p.ready(2)
	p.run(chromedp.Focus(`[aria-label="Menu of SR:DAILY"]`), chromedp.KeyEvent(kb.Enter))
	p.wait(`document.querySelector("[aria-label='How much earlier than SR:DAILY']")`)
	p.run(chromedp.SendKeys(`[aria-label="How much earlier than SR:DAILY"]`, "soon"+kb.Enter))
	p.wait(`document.querySelector(".trace-menu [role=alert]")?.innerText.startsWith("Write ")`)
	p.replace(`[aria-label="How much earlier than SR:DAILY"]`, "48h"+kb.Enter)
	p.ready(3)
	p.plots("SR:DAILY,SR:DAILY -1d,SR:DAILY -48h")
	p.run(chromedp.Reload())
	p.ready(3)
	p.plots("SR:DAILY,SR:DAILY -1d,SR:DAILY -48h")
	p.shoot("shift")
	at := float64(begin)/1e6 + 2*day*1e3
	for i, shift := range []float64{0, day * 1e3, 2 * day * 1e3} {
		var got struct{ X, Value, Gaps []float64 }
		p.eval(fmt.Sprintf(`(() => { const t = document.querySelector(".lane-plot").plot.traces()[%d]; return { x: [...t.series.x], value: [...t.series.value], gaps: t.breaks.filter((b) => b.gap).flatMap((b) => [b.lo, b.hi]) } })()`, i), &got)
		times, values := p.archived("SR:DAILY", at-shift, at-shift+3600e3)
		if len(got.X) != len(times) {
			t.Fatalf("trace %d has %d samples, and the archive %d", i, len(got.X), len(times))
		}
		for k := range times {
			if math.Abs(got.X[k]-times[k]-shift) > 1e-3 || got.Value[k] != values[k] {
				t.Fatalf("trace %d has %g at %f, and the archive %g at %f", i, got.Value[k], got.X[k], values[k], times[k])
			}
		}
		if want := i == 1; (len(got.Gaps) == 2) != want || want && got.Gaps[0] != at+600e3 {
			t.Errorf("trace %d has the gaps %v", i, got.Gaps)
		}
	}
	p.hover("", 0.5, 0.9)
	p.wait(`document.querySelector(".value[data-pv='SR:DAILY -1d'] .detail").innerText.startsWith("2026-01-02 12:")`)
}
