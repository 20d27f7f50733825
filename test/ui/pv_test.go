package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const day = "&from=2025-12-31T12:00:00.000Z&to=2026-01-01T13:00:00.000Z"

// TestPVPage checks the sections of the page about a PV.
func TestPVPage(t *testing.T) {
	a := newArchiveOf(t, fleet{pvs: 30})
	a.fill()
	p := open(t, a.prefixed.URL+"/archive/pv?pv=SR:CURRENT"+day)
	p.wait(`document.querySelector(".page[data-state=ready] .gaps tr[data-kind=disconnected]")`)
	var page struct {
		Text, Line  string
		Gaps, Losts int
		History     []string
	}
	p.eval(`({ text: document.querySelector("main").innerText, line: document.querySelector(".timeline svg").getAttribute("aria-label"),
		gaps: document.querySelectorAll(".timeline .gap").length, losts: document.querySelectorAll(".timeline .loss").length,
		history: [...document.querySelectorAll(".wide tbody td")].map((td) => td.innerText) })`, &page)
	for _, want := range []string{"Not captured: no ArchiveGroup captures SR:CURRENT", "connection reset", "the IOC dropped updates", "raw samples\tkept forever"} {
		if !strings.Contains(page.Text, want) {
			t.Errorf("the page is %q, want %q", page.Text, want)
		}
	}
	if page.Losts != 1 || page.Gaps < 1 || !strings.Contains(page.Line, "1 losses") {
		t.Errorf("the time line %q has %d gaps and %d losses", page.Line, page.Gaps, page.Losts)
	}
	if got := fmt.Sprint(page.History); !strings.Contains(got, "mA") || !strings.Contains(got, "DESC: Beam current") {
		t.Errorf("the metadata is %s", got)
	}
	p.shoot("pv-dark")
	p.run(chromedp.Click(`.gaps tr[data-kind=disconnected] button`))
	p.wait(`location.pathname === "/archive/" && document.querySelector(".value[data-pv='SR:CURRENT']")`)
	p.run(chromedp.Evaluate("history.back()", nil))
	p.wait(`document.querySelector(".page[data-state=ready] .timeline")`)
	p.run(chromedp.Click(`//nav[@aria-label="Range"]/a[text()="Year"]`))
	p.wait(`location.search === "?pv=SR:CURRENT&from=-365d" && document.querySelector(".page[data-state=ready] a[aria-current=true]")`)
}

// TestPVPageOfACapturedPV checks the state and the settings, and the way from the table and back.
func TestPVPageOfACapturedPV(t *testing.T) {
	a := newArchiveOf(t, fleet{pvs: 30})
	a.put("SR:0000001", floats(0, 10, 1, func(s float64) float64 { return s }))
	p := open(t, a.server.URL+"/pvs")
	p.run(chromedp.Click(`tr[data-pv='SR:0000001'] .state a`))
	p.wait(`document.querySelector(".page[data-state=ready] .facts") && location.pathname === "/pv" && location.search === "?pv=SR:0000001"`)
	var text string
	p.eval(`document.querySelector("main").innerText`, &text)
	for _, want := range []string{"connected", "-Infinity (MAJOR", "lab/vacuum", "Samples are kept"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page is %q, want %q", text, want)
		}
	}
	p.run(chromedp.Click(`[aria-label="Light colours"]`))
	p.shoot("pv-light")
	p.run(chromedp.Evaluate("history.back()", nil))
	p.wait(`document.querySelector("[data-matched='30']")`)
}

// TestPVPageOfAPVThatNeverConnected checks the page of a PV of which the archive has only the state.
func TestPVPageOfAPVThatNeverConnected(t *testing.T) {
	a := newArchiveOf(t, fleet{pvs: 30})
	p := open(t, a.server.URL+"/pv?pv=SR:0000005")
	p.wait(`document.querySelector(".page[data-state=ready] main")?.innerText.includes("no server answers at 10.0.0.255:5064")`)
}

// TestPVPageOfAnUnknownPV checks what the page says of a PV that the archive does not know.
func TestPVPageOfAnUnknownPV(t *testing.T) {
	a := newArchive(t)
	a.fill()
	p := open(t, a.server.URL+"/pv?pv=SR:CURREN")
	p.wait(`document.querySelector(".page[data-state=failed] [role=alert]")?.innerText.includes("SR:CURREN")`)
}
