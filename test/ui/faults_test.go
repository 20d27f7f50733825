package ui

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"varve.dev/varve/engine/sample"
)

// TestMoreNavigation checks Shift and wheel, the key of the search box, and a relative time.
func TestMoreNavigation(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT"+hour)
	p.ready(1)
	x, y := p.point("mA", 0.5, 0.5)
	p.run(input.DispatchMouseEvent(input.MouseWheel, x, y).WithDeltaY(250).WithDeltaX(0).WithModifiers(input.ModifierShift))
	p.expect(900, 4500)
	p.run(input.DispatchKeyEvent(input.KeyDown).WithKey("/").WithText("/")) // as a keyboard: no character if the page prevents it
	p.wait(`document.activeElement === document.querySelector(".search input") && document.activeElement.value === ""`)
	p.run(chromedp.KeyEvent(kb.Escape))
	p.run(chromedp.SetValue(`[aria-label=To]`, "now", chromedp.ByQuery), chromedp.SendKeys(`[aria-label=To]`, " "+kb.Enter))
	p.wait(`location.search.includes("to=now")`)
	p.run(chromedp.SetValue(`[aria-label=From]`, "-2h", chromedp.ByQuery), chromedp.SendKeys(`[aria-label=From]`, " "+kb.Enter))
	p.wait(`location.search.includes("from=-2h&to=now") && document.querySelector("[data-span='7200000']") && document.querySelector(".page[data-live=true]")`)
}

// TestBusyArchive checks that the page says why the archive refuses a read, and repeats it.
func TestBusyArchive(t *testing.T) {
	a := newArchive(t)
	a.fill()
	for _, code := range []int{429, 503} {
		p := open(t, a.server.URL+"/?pv=SR:CURRENT"+hour)
		p.ready(1)
		p.run(chromedp.Evaluate(fmt.Sprintf(`window.realFetch = window.fetch; window.refused = 0;
			window.fetch = (u, o) => String(u).includes("/bins?") ? (window.refused++, Promise.resolve(new Response('{"error":"too many reads"}', { status: %d, headers: { "Retry-After": "1" } }))) : realFetch(u, o); 0`, code), nil))
		p.run(chromedp.KeyEvent(kb.ArrowRight))
		p.wait(`document.querySelector(".page[data-state=failed] .value")?.innerText.includes("too many reads")`)
		p.wait(`window.refused >= 2`)
		p.run(chromedp.Evaluate(`window.fetch = window.realFetch; 0`, nil))
		p.expect(900, 4500)
		p.wait(`!document.querySelector(".value[data-error]")`)
	}
}

// TestWrongClockOfTheBrowser checks that now is that of the archive.
func TestWrongClockOfTheBrowser(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL)
	p.run(p.shiftClock("3600e3"), chromedp.Navigate(a.server.URL+"/?pv=SR:CURRENT&from=-5m&to=now"))
	p.wait(`document.querySelector(".page[data-live=true]:not([data-state=loading])")`)
	var shown, browser float64
	p.eval(`Number(document.querySelector(".page").dataset.to)`, &shown)
	p.eval(`Date.now()`, &browser)
	now := float64(time.Now().UnixMilli())
	if math.Abs(browser-now-3600e3) > 300e3 || math.Abs(shown-now) > 300e3 {
		t.Errorf("the plot ends %g ms from now, and the clock of the browser is wrong by %g ms", shown-now, browser-now)
	}
}

// shiftClock returns an action that makes the clock of later pages wrong.
func (p *page) shiftClock(by string) chromedp.ActionFunc {
	script := cdp.AddScriptToEvaluateOnNewDocument(`{ const real = Date.now; Date.now = () => real() + ` + by + ` }`)
	return func(ctx context.Context) error {
		_, err := script.Do(ctx)
		return err
	}
}

// TestSummerTime checks a range in which the clocks of the browser's zone change.
func TestSummerTime(t *testing.T) {
	a := newArchive(t)
	r := &sample.Run{Type: sample.Float64}
	for at := time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC); at.Hour() != 5; at = at.Add(time.Minute) {
		r.Append(&sample.Sample{Time: at.UnixNano(), Word: math.Float64bits(float64(at.Minute()))})
	}
	a.put("SUMMER", r)
	p := open(t, a.server.URL+"/?pv=SUMMER&from=2026-03-28T23:00:00.000Z&to=2026-03-29T04:00:00.000Z")
	p.ready(1)
	p.wait(`document.querySelector("[aria-label=From]").value === "2026-03-29 00:00:00" && document.querySelector("[aria-label=To]").value === "2026-03-29 06:00:00"`)
	if d := p.drawn(); d.Hi-d.Lo != 5*3600e3 || d.Rows < 300 {
		t.Errorf("the plot has %d rows in %g ms", d.Rows, d.Hi-d.Lo)
	}
	p.run(chromedp.SetValue(`[aria-label=From]`, "2026-03-29 03:30", chromedp.ByQuery), chromedp.SendKeys(`[aria-label=From]`, " "+kb.Enter))
	p.wait(`location.search.includes("from=2026-03-29T01:30:00.000Z")`)
	p.ready(1)
	p.shoot("summer-time")
	p.run(chromedp.Navigate(a.server.URL + "/?pv=SUMMER&from=2026-10-24T22:30:00.000Z&to=2026-10-25T03:30:00.000Z")) // the clocks go back
	p.ready(1)
	p.wait(`document.querySelector("[aria-label=From]").value === "2026-10-25 00:30:00" && document.querySelector("[aria-label=To]").value === "2026-10-25 04:30:00"`)
	if d := p.drawn(); d.Hi-d.Lo != 5*3600e3 {
		t.Errorf("in autumn, the plot has %g ms", d.Hi-d.Lo)
	}
}

// TestLargeValues checks strings of 40 kB, and arrays of a million elements.
func TestLargeValues(t *testing.T) {
	a := newArchive(t)
	text := &sample.Run{Type: sample.String}
	text.Append(&sample.Sample{Time: begin + 60*second, Bytes: []byte(strings.Repeat("long ", 8000))})
	a.put("LONG", text)
	array := &sample.Run{Type: sample.Float64.Array()}
	array.Append(&sample.Sample{Time: begin + 60*second, Bytes: make([]byte, 8<<20)})
	a.put("WIDE", array)
	p := open(t, a.server.URL+"/?pv=LONG&pv=WIDE"+hour)
	p.ready(2)
	p.text(".value[data-pv=WIDE] strong", "1,048,576 elements")
	var length int
	p.eval(`document.querySelector(".value[data-pv=LONG] strong").innerText.length`, &length)
	if length == 0 || length > 256 {
		t.Errorf("the page shows %d letters of the text", length)
	}
}
