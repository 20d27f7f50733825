package ui

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"varve.dev/varve/engine/sample"
)

// plots waits until the plots have these PVs: those of one plot separated by commas, and the plots by bars.
func (p *page) plots(want string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`[...document.querySelectorAll(".lane-plot")].map((l) => l.plot.traces().map((t) => t.pv).join()).join("|") === %q`, want))
}

// choose opens the menu of a trace by a key, and presses the button with a text by another one.
func (p *page) choose(trace, item string) {
	p.t.Helper()
	p.run(chromedp.Focus(fmt.Sprintf(`[aria-label="Menu of %s"]`, trace)), chromedp.KeyEvent(kb.Enter))
	p.wait(`document.querySelector(".trace-menu")`)
	var found bool
	p.eval(fmt.Sprintf(`(() => { const b = [...document.querySelectorAll(".trace-menu button")].find((b) => b.innerText.startsWith(%q)); b?.focus(); return b === document.activeElement && b.matches(":focus-visible") })()`, item), &found)
	if !found {
		p.t.Fatalf("the menu of %s has no %q that a key reaches", trace, item)
	}
	p.run(chromedp.KeyEvent(kb.Enter))
	p.wait(`!document.querySelector(".trace-menu")`)
}

// dragTrace drags the name of a trace to the middle of an element. Before it is released, check is called.
func (p *page) dragTrace(trace, target string, check func()) {
	p.t.Helper()
	middle := func(selector string) (x, y float64) {
		var box struct{ X, Y, Width, Height float64 }
		p.eval(fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect()`, selector), &box)
		return box.X + box.Width/2, box.Y + box.Height/2
	}
	x, y := middle(fmt.Sprintf(`.value[data-pv="%s"] .name`, trace))
	p.run(input.DispatchMouseEvent(input.MousePressed, x, y).WithButton(input.Left).WithButtons(1).WithClickCount(1),
		input.DispatchMouseEvent(input.MouseMoved, x-20, y+20).WithButton(input.Left).WithButtons(1))
	p.wait(`document.querySelector(".ghost")`)
	x, y = middle(target) // a drag shows places that were hidden
	p.run(input.DispatchMouseEvent(input.MouseMoved, x, y).WithButton(input.Left).WithButtons(1))
	p.wait(`document.querySelector(".over")`)
	if check != nil {
		check()
	}
	p.run(input.DispatchMouseEvent(input.MouseReleased, x, y).WithButton(input.Left).WithClickCount(1))
	p.wait(`!document.querySelector(".ghost")`)
}

// TestMoveTraces moves traces between plots with the keyboard and with the pointer, and checks that the
// URL has the plots.
func TestMoveTraces(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT&pv=SR:CURRENT:REF&pv=SR:MODE&log=mA"+hour)
	p.ready(3)
	p.plots("SR:CURRENT,SR:CURRENT:REF|SR:MODE")
	p.choose("SR:CURRENT:REF", "Plot alone")
	p.plots("SR:CURRENT|SR:CURRENT:REF|SR:MODE")
	p.shoot("alone")
	p.run(chromedp.Reload())
	p.ready(3)
	p.plots("SR:CURRENT|SR:CURRENT:REF|SR:MODE")
	p.choose("SR:CURRENT:REF", "Plot with SR:CURRENT")
	p.plots("SR:CURRENT,SR:CURRENT:REF|SR:MODE")
	p.wait(`!location.search.includes("lane=") && location.search.includes("log=mA")`)
	p.dragTrace("SR:CURRENT", `.drop-own`, func() { p.shoot("drag") })
	p.plots("SR:CURRENT|SR:CURRENT:REF|SR:MODE")
	p.dragTrace("SR:CURRENT:REF", `.lane`, nil)
	p.plots("SR:CURRENT,SR:CURRENT:REF|SR:MODE")
	p.wait(`location.search.includes("lane=1:SR:CURRENT&lane=1:SR:CURRENT:REF")`)
	p.dragTrace("SR:CURRENT", `[data-lane="enum SR:MODE"]`, nil)
	p.wait(`document.querySelector(".banner")?.innerText.includes("SR:MODE needs a plot of its own")`)
	p.dragTrace("SR:CURRENT", `.drop-own`, func() {
		p.run(chromedp.KeyEvent(kb.Escape))
		p.wait(`!document.querySelector(".ghost")`)
	})
	p.plots("SR:CURRENT,SR:CURRENT:REF|SR:MODE")
	p.run(chromedp.Evaluate("history.back()", nil))
	p.plots("SR:CURRENT|SR:CURRENT:REF|SR:MODE")
	p.run(chromedp.Navigate(a.server.URL + "/?pv=SR:CURRENT&pv=SR:CURRENT:REF&alone=SR:CURRENT:REF" + hour)) // a link of an older version
	p.ready(2)
	p.plots("SR:CURRENT|SR:CURRENT:REF")
}

// replace types a text in place of what an input has.
func (p *page) replace(selector, text string) {
	p.t.Helper()
	p.run(chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q).select()`, selector), nil), chromedp.KeyEvent(text))
}

// scales returns the ranges of the axes of a plot.
func (p *page) scales(lane string) (s struct{ Y, Y2 []float64 }) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`(() => { const { y, y2 } = document.querySelector('[data-lane=%q]').plot.u.scales; return { y: [y.min, y.max, y.distr], y2: y2 && [y2.min, y2.max, y2.distr] } })()`, lane), &s)
	return s
}

// TestTwoAxes plots two units in one plot, with an axis each, and checks that a third one is refused.
func TestTwoAxes(t *testing.T) {
	a := newArchive(t)
	a.fill()
	a.put("SR:PRESSURE", floats(0, 3600, 60, func(s float64) float64 { return 1e-9 * (1 + s/36) }))
	a.metadata("SR:PRESSURE", sample.Metadata{Units: "mbar"})
	p := open(t, a.server.URL+"/?pv=SR:CURRENT&pv=SR:LIFETIME&pv=SR:PRESSURE"+hour)
	p.ready(3)
	p.choose("SR:LIFETIME", "Plot with SR:CURRENT")
	p.plots("SR:CURRENT,SR:LIFETIME|SR:PRESSURE")
	s := p.scales("lane 1")
	if len(s.Y2) != 3 || s.Y[0] > 95 || s.Y[1] < 305 || s.Y2[0] > 10 || s.Y2[0] < 9 || s.Y2[1] < 10.98 || s.Y2[1] > 12 {
		t.Fatalf("the axes are %+v", s)
	}
	p.ready(3)
	p.shoot("axes")
	var pixel bool // the line of the second axis is where the second axis says
	p.eval(`(() => { const { u, traces } = document.querySelector(".lane-plot").plot, t = traces()[1], s = t.series;
		const x = Math.round(u.valToPos(s.x[30] + 20e3, "x", true)), y = Math.round(u.valToPos(s.value[30], "y2", true));
		const hex = (d) => "#" + [...d.slice(0, 3)].map((v) => v.toString(16).padStart(2, "0")).join("");
		for (let dy = -2; dy <= 2; dy++) if (hex(u.ctx.getImageData(x, y + dy, 1, 1).data) === t.color) return true;
		return false })()`, &pixel)
	if !pixel {
		t.Error("the second axis does not place its trace")
	}
	p.choose("SR:PRESSURE", "Plot with SR:CURRENT, SR:LIFETIME")
	p.wait(`document.querySelector(".banner")?.innerText.includes("has both already: mA and h. The unit of SR:PRESSURE is another one: mbar")`)
	p.plots("SR:CURRENT,SR:LIFETIME|SR:PRESSURE")
	p.run(chromedp.Reload())
	p.ready(3)
	p.plots("SR:CURRENT,SR:LIFETIME|SR:PRESSURE")
	p.run(chromedp.Navigate(a.server.URL + "/?pv=SR:CURRENT&pv=SR:LIFETIME&pv=SR:PRESSURE&lane=1:SR:CURRENT&lane=1:SR:LIFETIME&lane=1:SR:PRESSURE" + hour))
	p.ready(3)
	p.plots("SR:CURRENT,SR:LIFETIME|SR:PRESSURE") // a third unit has a plot of its own
}

// TestScales fixes the range of an axis, refuses wrong ranges, and makes one axis of two logarithmic.
func TestScales(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT&pv=SR:LIFETIME&lane=1:SR:CURRENT&lane=1:SR:LIFETIME"+hour)
	p.ready(2)
	fix := func(unit, lo, hi string) {
		p.run(chromedp.Focus(`[aria-label^="Scale of `+unit+`"]`), chromedp.KeyEvent(kb.Enter))
		p.wait(`document.querySelectorAll(".popover form input").length === 2`)
		p.replace(`.popover form label:nth-of-type(1) input`, lo)
		p.replace(`.popover form label:nth-of-type(2) input`, hi+kb.Enter)
	}
	fix("h", "-5", "20")
	p.wait(`location.search.includes("y=1:h:-5:20") && !document.querySelector(".popover form")`)
	if s := p.scales("lane 1"); s.Y2[0] != -5 || s.Y2[1] != 20 || s.Y[0] > 95 {
		t.Errorf("the axes are %+v", s)
	}
	fix("mA", "300", "200")
	p.wait(`document.querySelector(".popover [role=alert]")?.innerText.includes("must be smaller")`)
	p.run(chromedp.KeyEvent(kb.Escape))
	p.wait(`!document.querySelector(".popover form") && document.activeElement.getAttribute("aria-label") === "Scale of mA: auto"`)
	p.run(chromedp.Click(`[aria-label="log h"]`))
	p.wait(`document.querySelector(".banner")?.innerText.includes("only numbers above 0") && location.search.includes("log=1:h") && !location.search.includes("&y=")`)
	if s := p.scales("lane 1"); s.Y[2] != 1 || s.Y2[2] != 3 || s.Y2[0] < 8 || s.Y2[1] > 14 {
		t.Errorf("the axes are %+v", s)
	}
	for _, wrong := range []string{"h:20:-5", "h:1:x", "h:1", "h::", "h:NaN:1"} {
		p.run(chromedp.Navigate(a.server.URL + "/?pv=SR:LIFETIME&y=" + url.QueryEscape(wrong) + hour))
		p.ready(1)
		if s := p.scales("h"); s.Y[0] < 9 || s.Y[1] > 12 {
			t.Errorf("with y=%s the axis is %+v", wrong, s)
		}
	}
}
