package ui

import (
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"varve.dev/varve/engine/sample"
)

// fillChanges stores two PVs that change at half past twelve, and one that does not.
func (a *archive) fillChanges() {
	a.fill()
	noise := func(s float64) float64 { return math.Sin(s) + math.Sin(17*s*s) }
	a.put("CH:STEP", floats(-7200, 3600, 10, func(s float64) float64 {
		if s >= 1800 {
			return noise(s) + 8
		}
		return noise(s)
	}))
	a.metadata("CH:STEP", sample.Metadata{Units: "bar"})
	a.put("CH:STUCK", floats(-7200, 3600, 10, func(s float64) float64 {
		if s >= 1800 {
			return 0.5
		}
		return noise(s)
	}))
	a.put("CH:SAME", floats(-7200, 3600, 10, noise))
}

// TestWhatElseChanged selects a window with the pointer, lists what changed in it, and plots a PV of
// the list.
func TestWhatElseChanged(t *testing.T) {
	a := newArchive(t)
	a.fillChanges()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT"+hour)
	p.ready(1)
	p.drag("mA", 0.5, 0.75, input.ModifierCtrl)
	p.wait(`document.querySelector(".selection tr[data-pv='SR:CURRENT']")`)
	p.expect(0, 3600) // it does not zoom
	var window struct{ From, To float64 }
	p.eval(`(({ from, to }) => ({ from: Number(from), to: Number(to) }))(document.querySelector(".selection").dataset)`, &window)
	if at := float64(begin) / 1e6; math.Abs(window.From-at-1800e3) > 10e3 || math.Abs(window.To-at-2700e3) > 10e3 {
		t.Fatalf("the window is from %f to %f", window.From-at, window.To-at)
	}
	p.run(chromedp.Click(`//button[text()="What else changed here?"]`))
	p.wait(`document.querySelector(".changes[data-state=ready]") && location.search.includes("changes=")`)
	p.run(chromedp.SetValue(`.changes form input`, "CH:*", chromedp.ByQuery), chromedp.SendKeys(`.changes form input`, "\r"))
	p.wait(`location.search.includes("changes=CH:*") && document.querySelector(".changes[data-state=ready]")?.innerText.includes("2 of 3 PVs")`)
	var list []struct{ PV, Kind, Text string }
	p.eval(`[...document.querySelectorAll(".changes li")].map((l) => ({ pv: l.dataset.pv, kind: l.dataset.kind, text: l.innerText }))`, &list)
	if len(list) != 2 || list[0].PV+list[1].PV != "CH:STUCKCH:STEP" && list[0].PV+list[1].PV != "CH:STEPCH:STUCK" {
		t.Fatalf("the list is %+v", list)
	}
	for _, l := range list {
		if want := map[string]string{"CH:STEP": "mean", "CH:STUCK": "does not change any more"}[l.PV]; !strings.Contains(l.Text, want) {
			t.Errorf("%s is in the list with %q, want %s", l.PV, l.Text, want)
		}
	}
	p.shoot("changes")
	p.run(chromedp.Click(`.changes li[data-pv="CH:STEP"] button`))
	p.ready(2)
	p.wait(`document.querySelector("[data-lane=bar]") && document.querySelector(".changes li[data-pv='CH:STEP'] button").disabled`)
	p.run(chromedp.Reload())
	p.ready(2)
	p.wait(`document.querySelectorAll(".changes[data-state=ready] li").length === 2`)
	p.run(chromedp.Click(`[aria-label="Light colours"]`))
	p.ready(2)
	p.shoot("changes-light")
}

// TestSelectionByKeys selects the view, checks its statistics, and removes the selection.
func TestSelectionByKeys(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:LIFETIME"+hour)
	p.ready(1)
	p.run(chromedp.KeyEvent("s"))
	p.wait(`document.querySelector(".selection tr[data-pv='SR:LIFETIME'][data-samples='60'][data-min='10']") && location.search.includes("window=2026-01-01T12:00:00.000Z/2026-01-01T13:00:00.000Z")`)
	p.run(chromedp.KeyEvent("\x1b"))
	p.wait(`!document.querySelector(".selection") && !location.search.includes("window")`)
	p.run(chromedp.Navigate(a.server.URL + "/?pv=SR:LIFETIME&changes=NO*&window=2026-01-01T12:00:00Z/2026-01-01T12:30:00Z" + hour))
	p.wait(`document.querySelector(".changes[data-state=failed] [role=alert]")?.innerText.includes("no PV matches")`)
}
