package ui

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"varve.dev/varve/engine/sample"
)

// expect waits until the page shows a range, in s after begin.
func (p *page) expect(from, to float64) {
	p.t.Helper()
	at := func(s float64) string { return fmt.Sprintf("%.0f", float64(begin)/1e6+s*1e3) }
	p.wait(fmt.Sprintf(`(() => { const d = document.querySelector(".page").dataset; return Math.abs(d.from - %s) < 15e3 && Math.abs(d.to - %s) < 15e3 })()`, at(from), at(to)))
	p.wait(`document.querySelector(".page[data-state=ready]")`)
}

// TestNavigation checks all ways to change the range.
func TestNavigation(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT"+hour)
	p.ready(1)
	p.expect(0, 3600)
	click := func(label string) { p.run(chromedp.Click(`[aria-label="` + label + `"]`)) }
	click("Later")
	p.expect(1800, 5400)
	click("Earlier")
	p.expect(0, 3600)
	click("Zoom out")
	p.expect(-1800, 5400)
	click("Previous view")
	p.expect(0, 3600)
	click("Next view")
	p.expect(-1800, 5400)
	click("Zoom in")
	p.expect(0, 3600)
	p.run(chromedp.KeyEvent(kb.ArrowRight))
	p.expect(900, 4500)
	p.run(chromedp.KeyEvent(kb.ArrowLeft))
	p.expect(0, 3600)
	p.run(chromedp.KeyEvent("-"))
	p.expect(-1800, 5400)
	p.run(chromedp.KeyEvent("+"))
	p.expect(0, 3600)
	p.drag("mA", 0.5, 0.25, input.ModifierShift)
	p.expect(900, 4500)
	x, y := p.point("mA", 0.5, 0.5)
	p.run(input.DispatchMouseEvent(input.MouseWheel, x, y).WithDeltaY(-math.Log(4.0/3) / math.Log(1.0015)).WithDeltaX(0))
	p.expect(1350, 4050)
	p.run(chromedp.MouseClickXY(x, y, chromedp.ClickCount(2)))
	p.expect(0, 5400)
	p.run(chromedp.SetValue(`[aria-label=From]`, "2026-01-01 12:15", chromedp.ByQuery), chromedp.SendKeys(`[aria-label=From]`, " "+kb.Enter))
	p.expect(900, 5400)
	p.run(chromedp.SendKeys(`[aria-label=To]`, "x"+kb.Enter))
	p.wait(`document.querySelector(".time [role=alert]")?.innerText.startsWith("Write ")`)
	p.run(chromedp.SendKeys(`[aria-label=To]`, kb.Escape))
	p.run(chromedp.Click(`.gaps tr[data-kind=disconnected] button`))
	p.expect(1125, 1575)
}

// TestQuickRangesAreLive checks that a quick range ends now, in the clock of the archive.
func TestQuickRangesAreLive(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT"+hour)
	p.ready(1)
	p.run(chromedp.Click(`.quick button:nth-child(3)`))
	p.wait(`document.querySelector(".page[data-live=true][data-state=ready]") && location.search.includes("from=-8h&to=now")`)
	p.wait(`(() => { const d = document.querySelector(".page").dataset; return Math.abs(d.to - Date.now()) < 60e3 && Math.abs(d.to - d.from - 8 * 3600e3) < 2 })()`)
}

// TestAxesAndZones checks the logarithmic axis, the time zone, removing a PV, and copying a link.
func TestAxesAndZones(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT&pv=SR:LIFETIME"+hour)
	p.ready(2)
	p.run(chromedp.Click(`.values header button`))
	p.wait(`document.querySelector(".lane-plot").plot.u.scales.y.distr === 3 && location.search.includes("log=mA")`)
	p.run(chromedp.Click(`.toolbar > button[aria-pressed]`))
	p.wait(`document.querySelector("[aria-label=From]").value === "2026-01-01 13:00:00" && !location.search.includes("utc")`) // Europe/Berlin
	p.run(chromedp.Click(`[aria-label="Remove SR:CURRENT"]`))
	p.ready(1)
	p.wait(`document.querySelectorAll(".lane").length === 1 && !location.search.includes("CURRENT")`)
	p.run(chromedp.Click(`//button[text()="Copy link"]`))
	var text string
	p.wait(`document.querySelector(".banner")`)
	p.eval(`document.querySelector(".banner").innerText`, &text)
	if !strings.Contains(text, "/?pv=SR:LIFETIME&from=2026-01-01T12:00:00.000Z&to=2026-01-01T13:00:00.000Z") {
		t.Errorf("the link is %s", text)
	}
	p.run(chromedp.Click(`.banner button`))
	p.wait(`!document.querySelector(".banner")`)
}

// TestOtherTypes checks PVs whose values are no numbers, and values that are not finite.
func TestOtherTypes(t *testing.T) {
	a := newArchive(t)
	text := &sample.Run{Type: sample.String}
	array := &sample.Run{Type: sample.Float64.Array()}
	odd := &sample.Run{Type: sample.Float64}
	for i := range int64(3) {
		text.Append(&sample.Sample{Time: begin + i*900*second, Bytes: []byte([]string{"Ready", "Fault: <b>door</b> open", "Ready"}[i])})
		array.Append(&sample.Sample{Time: begin + i*900*second, Bytes: make([]byte, 800)})
		odd.Append(&sample.Sample{Time: begin + i*900*second, Word: math.Float64bits([]float64{math.Inf(1), math.NaN(), 5}[i])})
	}
	a.put("TEXT", text)
	a.put("ARRAY", array)
	a.put("ODD", odd)
	p := open(t, a.server.URL+"/?pv=TEXT&pv=ARRAY&pv=ODD"+hour)
	p.ready(3)
	p.hover("text TEXT", 0.3, 0.5)
	p.wait(`document.querySelector(".value[data-pv=TEXT] strong").innerText === "Fault: <b>door</b> open"`)
	p.text(".value[data-pv=ARRAY]", "heat map: 3 arrays")
	p.wait(`document.querySelector(".value[data-pv=ODD] strong").innerText === "–"`)
	p.hover("text TEXT", 0.1, 0.5)
	p.wait(`document.querySelector(".value[data-pv=ODD] strong").innerText === "Infinity"`)
	p.shoot("types")
}

// TestArchiveAway checks what the page says while the archive does not answer, and that it goes on.
func TestArchiveAway(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT"+hour)
	p.ready(1)
	p.run(chromedp.Evaluate(`window.realFetch = window.fetch; window.fetch = () => Promise.reject(new TypeError("away")); 0`, nil))
	p.run(chromedp.KeyEvent(kb.ArrowRight))
	p.wait(`document.querySelector(".page[data-state=failed] .value")?.innerText.includes("The archive does not answer.")`)
	p.run(chromedp.Evaluate(`window.fetch = window.realFetch; 0`, nil))
	p.expect(900, 4500)
	p.wait(`!document.querySelector(".value[data-error]")`)
}
