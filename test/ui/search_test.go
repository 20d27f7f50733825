package ui

import (
	"fmt"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve"
)

// TestSearchDescriptions checks that the search box finds PVs by words of their descriptions, after those by name.
func TestSearchDescriptions(t *testing.T) {
	with := func(pv, text string) capture.Status {
		return capture.Status{PV: pv, State: capture.Connected, Metadata: &sample.Metadata{Properties: []sample.Property{{Name: "DESC", Value: text}}}}
	}
	a := newArchiveOf(t, &known{channels: []capture.Status{
		with("SR:CURRENT", "Stored beam current"), with("SR:CURRENT:REF", "Its setpoint"), with("SR:LIFETIME", "Beam lifetime of the ring"), with("SR:MODE", "CURRENT mode of the ring"),
	}})
	a.fill()
	p := open(t, a.server.URL+"/?"+hour[1:])
	p.wait(`document.querySelector(".page[data-state=empty]")`)
	list := func(want string) {
		t.Helper()
		p.wait(fmt.Sprintf(`[...document.querySelectorAll(".found li")].map((e) => e.dataset.pv).join() === %q`, want))
	}
	p.run(chromedp.SendKeys(`.search input`, "CURRENT"))
	list("SR:CURRENT,SR:CURRENT:REF,SR:MODE")
	p.text(".found li[data-pv='SR:MODE']", "CURRENT mode of the ring")
	p.text(".found li[data-pv='SR:CURRENT']", "Stored beam current")
	p.shoot("search-descriptions")
	p.run(chromedp.Reload())
	p.wait(`document.querySelector(".search[data-state=empty]")`)
	p.run(chromedp.SendKeys(`.search input`, "ring lifetime"))
	list("SR:LIFETIME")
	p.run(chromedp.KeyEvent(kb.Enter))
	p.ready(1)
	p.wait(`location.search.includes("pv=SR:LIFETIME")`)
	p.run(chromedp.Reload())
	p.ready(1)
	p.run(chromedp.SendKeys(`.search input`, "zzz qqq"))
	p.text(".found p", "No name and no description matches.")
}

// TestTenThousandMatches checks that a search with 10,000 matches shows the first ones, and says so.
func TestTenThousandMatches(t *testing.T) {
	a := newArchive(t)
	matching := func(yield func(string) bool) {
		for i := range 10_000 {
			if !yield(fmt.Sprintf("MATCH:%05d", i)) {
				return
			}
		}
	}
	reg := prometheus.NewRegistry()
	h, err := serve.New(&serve.Config{
		Reader: &query.Reader{Store: a.store, Shards: 4, Captured: func() iter.Seq[string] { return matching }}, Channels: fleet{pvs: 10_000}, Gatherer: reg,
		Metrics: serve.NewMetrics(reg), Registerer: reg, Reads: 8, Ready: func() error { return nil }, Version: "test", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	a.check(err)
	a.server.Config.Handler = h
	p := open(t, a.server.URL+"/")
	p.wait(`document.querySelector(".page[data-state=empty]")`)
	p.run(chromedp.SendKeys(`.search input`, "MATCH"))
	p.wait(`document.querySelectorAll(".found li").length === 100`)
	p.text(".found p", "Only the first 100 names are shown. Type more of the name.")
	var last string
	p.eval(`document.querySelector(".found li:last-child").dataset.pv`, &last)
	if last != "MATCH:00099" {
		t.Errorf("the last name is %s", last)
	}
	p.run(chromedp.SendKeys(`.search input`, ":0999"))
	p.wait(`document.querySelectorAll(".found li").length === 10 && !document.querySelector(".found p")`)
}

// TestSearchIgnoresCase checks that the search box and the table of PVs find names in upper and lower case.
func TestSearchIgnoresCase(t *testing.T) {
	a, _ := newOverview(t)
	p := open(t, a.server.URL+"/?"+hour[1:])
	for _, text := range []string{"current:r", "sr:cur*ref"} {
		p.wait(`document.querySelector(".search[data-state=empty]")`)
		p.run(chromedp.SendKeys(`.search input`, text))
		p.wait(`document.querySelector(".search[data-state=found]") && [...document.querySelectorAll(".found li")].map((e) => e.dataset.pv).join() === "SR:CURRENT:REF"`)
		p.run(chromedp.Reload())
	}
	p.run(chromedp.Navigate(a.server.URL + "/pvs?pv=life"))
	p.wait(`document.querySelector("[data-matched='1']") && document.querySelector("tr[data-pv='SR:LIFETIME']")`)
}
