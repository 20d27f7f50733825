package ui

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestAPlotOfItsOwn gives a PV a plot of its own and takes it back, by the pointer and by a key.
func TestAPlotOfItsOwn(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/?pv=SR:CURRENT&pv=SR:CURRENT:REF"+hour)
	p.ready(2)
	p.wait(`document.querySelectorAll(".lane-plot").length === 1`)
	p.run(chromedp.Click(`[aria-label="Plot SR:CURRENT:REF alone"]`))
	p.wait(`document.querySelectorAll(".lane-plot").length === 2 && location.search.includes("alone=SR:CURRENT:REF")`)
	p.shoot("alone")
	p.run(chromedp.Reload())
	p.ready(2)
	p.wait(`[...document.querySelectorAll(".lane-plot")].map((l) => l.plot.traces()[0].pv).join() === "SR:CURRENT,SR:CURRENT:REF"`)
	p.run(chromedp.Focus(`[aria-label="Plot SR:CURRENT:REF alone"]`), chromedp.KeyEvent(kb.Enter))
	p.wait(`document.querySelectorAll(".lane-plot").length === 1 && !location.search.includes("alone")`)
}
