package ui

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"varve.dev/varve/engine/sample"
)

// TestArchiveStopsAmidAPlot checks what the page says of an archive that stops in its answer, and of one that never
// answers; and that it goes on. The page's own clock is replaced, so that it does not wait.
func TestArchiveStopsAmidAPlot(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT"+hour)
	p.ready(1)
	from := 0.0
	const never = `() => new AbortController().signal`
	for _, c := range []struct{ fetch, timeout, says string }{
		{`(u, o) => realFetch(u, o).then((r) => r.arrayBuffer()).then((b) => new Response(b.slice(0, b.byteLength / 2)))`, never, "The archive stopped in the middle of its answer."},
		{`(u, o) => new Promise((_, fail) => o.signal.addEventListener("abort", () => fail(o.signal.reason)))`,
			`() => { const c = new AbortController(); setTimeout(() => c.abort(new DOMException("too late", "TimeoutError")), 100); return c.signal }`, "The archive does not answer."},
	} {
		p.run(chromedp.Evaluate(`window.realFetch ??= window.fetch; window.fetch = `+c.fetch+`; AbortSignal.timeout = `+c.timeout+`; 0`, nil))
		p.run(chromedp.KeyEvent(kb.ArrowRight))
		p.text(".page[data-state=failed] .value", c.says)
		p.text(".value", "samples") // what was read before stays
		p.run(chromedp.Evaluate(`window.fetch = window.realFetch; AbortSignal.timeout = `+never+`; 0`, nil))
		from += 900
		p.expect(from, from+3600)
		p.wait(`!document.querySelector(".value[data-error]")`)
	}
}

// TestRangeWithoutData checks a range in which a PV has no samples, and the way back.
func TestRangeWithoutData(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:LIFETIME&pv=SR:MODE&from=2025-06-01T00:00:00.000Z&to=2025-06-02T00:00:00.000Z&utc=1")
	p.ready(2)
	p.text(".value[data-pv='SR:LIFETIME']", "no data in this range")
	p.text(".value[data-pv='SR:MODE']", "no data in this range")
	p.run(chromedp.SetValue(`[aria-label=To]`, "2026-01-01 13:00", chromedp.ByQuery), chromedp.SendKeys(`[aria-label=To]`, " "+kb.Enter))
	p.wait(`location.search.includes("to=2026-01-01T13:00:00.000Z")`)
	p.text(".value[data-pv='SR:LIFETIME']", "raw: 60 samples")
}

// TestEnumWithoutLabels checks an enumeration whose states have no names.
func TestEnumWithoutLabels(t *testing.T) {
	a := newArchive(t)
	r := &sample.Run{Type: sample.Enum}
	for i, at := range []int64{0, 900, 1800} {
		r.Append(&sample.Sample{Time: begin + at*second, Word: []uint64{0, 7, 3}[i]})
	}
	a.put("NAMELESS", r)
	p := open(t, a.server.URL+"/?pv=NAMELESS"+hour)
	p.ready(1)
	p.hover("enum NAMELESS", 0.4, 0.5)
	p.text(".value strong", "7")
	var scale []float64
	p.eval(`(() => { const { y } = document.querySelector(".lane-plot").plot.u.scales; return [y.min, y.max] })()`, &scale)
	if scale[0] > 0 || scale[1] < 7 {
		t.Errorf("the axis is from %g to %g", scale[0], scale[1])
	}
}
