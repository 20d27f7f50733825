package ui

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// uiPages are the pages of the UI, with a condition that holds when a page is complete. The archive is that of
// newOverview.
var uiPages = []struct{ name, path, complete string }{
	{"explore", "/?pv=SR:CURRENT&pv=SR:MODE&window=2026-01-01T12:10:00.000Z/2026-01-01T12:30:00.000Z" + hour, `document.querySelector(".page[data-state=ready]") && document.querySelectorAll(".value[data-rows]").length === 2`},
	{"xy", "/?pv=SR:CURRENT&pv=SR:MODE&show=xy" + windowed, `document.querySelector(".page[data-state=ready]") && document.querySelector(".distribution-plot canvas")`},
	{"heat", "/?pv=SR:PROFILE&log=colours:SR:PROFILE" + hour, `document.querySelector(".page[data-state=ready] .array .distribution-plot canvas")`},
	{"empty", "/", `document.querySelector(".page[data-state=empty]")`},
	{"pvs", "/pvs", `document.querySelector(".page[data-state=ready] tr[data-pv='SR:NEVER']")`},
	{"pv", "/pv?pv=SR:CURRENT&from=2025-12-31T00:00:00Z&to=2026-01-02T00:00:00Z", `document.querySelector(".page[data-state=ready] .gaps")`},
	{"archive", "/archive", `document.querySelector(".page[data-state=ready] .tiles") && document.querySelector("[aria-labelledby=losses] .fine")`},
	{"groups", "/groups", `document.querySelector(".page[data-state=ready] tr[data-group]")`},
	{"group", "/groups?group=lab/vacuum", `document.querySelector(".page[data-state=ready] table.settings")`},
	{"form", "/groups?group=lab/vacuum&form=1", `document.querySelector(".page[data-state=ready] form") && document.querySelector("[data-valid=yes]")`},
}

// stops returns the elements that Tab must reach, in the order of the page: those that are visible and that a user can
// click or type into. An element with tabindex -1 has another way, which its page's documentation names.
const stops = `(() => {
	window.stops = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
		.filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length > 0);
	return window.stops.length })()`

// focused describes the element with the focus: its index among the stops, and whether the browser shows the focus.
const focused = `(() => {
	const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
	return { at: window.stops.indexOf(e), seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
		inView: box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth, html: e.outerHTML.slice(0, 160) } })()`

type focus struct {
	At           int
	Seen, InView bool
	HTML         string
}

// TestKeyboardReachesEverything walks through each page by Tab: it reaches all that a user can click or type into, in
// the order of the page, shows where it is, and leaves the page at its end. Shift and Tab walks back.
func TestKeyboardReachesEverything(t *testing.T) {
	a, _ := newOverview(t)
	p := open(t, a.server.URL+"/")
	for _, page := range uiPages {
		p.run(chromedp.Navigate(a.server.URL + page.path))
		p.wait(page.complete)
		p.run(chromedp.Evaluate(`document.activeElement.blur(); document.getSelection().removeAllRanges(); 0`, nil))
		var n int
		p.eval(stops, &n)
		if n < 8 {
			t.Errorf("%s: only %d elements take the focus", page.name, n)
		}
		for want := range n {
			p.run(chromedp.KeyEvent(kb.Tab))
			var f focus
			p.eval(focused, &f)
			if f.At != want {
				t.Errorf("%s: Tab number %d reaches %s, which is number %d of %d", page.name, want, f.HTML, f.At, n)
				break
			}
			if !f.Seen || !f.InView {
				t.Errorf("%s: the focus on %s is visible: %t, in view: %t", page.name, f.HTML, f.Seen, f.InView)
			}
		}
		p.run(chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(input.ModifierShift)))
		var f focus
		if p.eval(focused, &f); n > 1 && f.At != n-2 {
			t.Errorf("%s: Shift and Tab at the end reaches %s, number %d of %d", page.name, f.HTML, f.At, n)
		}
	}
}

// TestEscapeCloses checks that Escape closes what is open, and that the focus stays where the user was.
func TestEscapeCloses(t *testing.T) {
	a, _ := newOverview(t)
	p := open(t, a.server.URL+"/?pv=SR:CURRENT"+hour)
	p.ready(1)
	p.run(chromedp.KeyEvent("s"))
	p.wait(`document.querySelector(".selection")`)
	p.run(chromedp.KeyEvent(kb.Escape))
	p.wait(`!document.querySelector(".selection")`)
	p.run(chromedp.Focus(".search input"), chromedp.KeyEvent("SR"))
	p.wait(`document.querySelector(".found li")`)
	p.run(chromedp.KeyEvent(kb.Escape))
	p.wait(`!document.querySelector(".found")`)
	p.run(chromedp.Focus(".menu summary"), chromedp.KeyEvent(kb.Enter))
	p.wait(`document.querySelector(".menu[open]")`)
	p.run(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Escape))
	p.wait(`!document.querySelector(".menu[open]") && document.activeElement === document.querySelector(".menu summary")`)
}

// TestPictures takes pictures of each page in both themes, for a desk and for a wall, and checks that no page is wider
// than its window. The picture page-explore-dark-1280 is docs/explore.png.
func TestPictures(t *testing.T) {
	a, _ := newOverview(t)
	p := open(t, a.server.URL+"/")
	for _, size := range [][2]int64{{1280, 720}, {3840, 2160}} {
		p.run(emulation.SetDeviceMetricsOverride(size[0], size[1], 1, false))
		for _, theme := range []string{"dark", "light"} {
			p.run(chromedp.Evaluate(`localStorage.setItem("varve.theme", "`+theme+`")`, nil))
			for _, page := range uiPages {
				p.run(chromedp.Navigate(a.server.URL + page.path))
				p.wait(page.complete)
				p.wait(`document.documentElement.scrollWidth <= innerWidth`)
				p.shoot(fmt.Sprintf("page-%s-%s-%d", page.name, theme, size[0]))
			}
		}
	}
}
