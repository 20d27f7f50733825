package ui

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// fleet is an engine that captures PVs with known states.
type fleet struct{ pvs int }

func (f fleet) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		for i := range f.pvs {
			if !yield(f.status(i), nil) {
				return
			}
		}
	}
}

func (f fleet) Status(_ context.Context, pv string) (s capture.Status, captured bool, err error) {
	var i int
	if _, err := fmt.Sscanf(pv, "SR:%07d", &i); err != nil || i >= f.pvs {
		return s, false, nil
	}
	return f.status(i), true, nil
}

// status returns the state of a PV. The first ones have odd values.
func (fleet) status(i int) capture.Status {
	s := capture.Status{
		PV: fmt.Sprintf("SR:%07d", i), Group: "lab/vacuum", State: capture.Connected, Since: begin, Connects: 1, Rate: float64(i % 1000), Received: 10, Count: 1,
		Type: sample.Float64, HasLast: true, Last: sample.Sample{Time: begin, Word: math.Float64bits(float64(i))}, Metadata: &sample.Metadata{Units: "mbar"},
	}
	odd := []func(){
		func() { s.Last.Word = math.Float64bits(math.NaN()) },
		func() { s.Last.Word = math.Float64bits(math.Inf(-1)); s.Last.Tag = sample.MakeTag(sample.Major, 3) },
		func() { s.Type, s.Last.Word, s.Metadata = sample.Enum, 3, nil },
		func() { s.Type, s.Last.Bytes = sample.String, []byte(strings.Repeat("long ", 700)) },
		func() { s.Last.Tag, s.Type = sample.Elsewhere, sample.String },
		func() {
			s.State, s.Cause, s.HasLast, s.Connects, s.Group = capture.Searching, "no server answers at 10.0.0.255:5064", false, 0, "lab/rf"
		},
		func() { s.Silent, s.HasLast = true, false },
	}
	if i < len(odd) {
		odd[i]()
	}
	return s
}

// cell is the text of a column of a PV.
func cell(pv string, column int) string {
	return fmt.Sprintf(`document.querySelector("tr[data-pv='%s']")?.children[%d].innerText`, pv, column)
}

// TestTableShowsStates checks the rows of PVs with odd values.
func TestTableShowsStates(t *testing.T) {
	a := newArchiveOf(t, fleet{pvs: 30})
	p := open(t, a.server.URL+"/pvs")
	p.wait(`document.querySelector(".page[data-state=ready] tr[data-pv='SR:0000006']")`)
	for want, of := range map[string]string{
		"NaN mbar": cell("SR:0000000", 4), "-Infinity mbar (MAJOR)": cell("SR:0000001", 4), "3": cell("SR:0000002", 4), "too large": cell("SR:0000003", 4),
		"searching": cell("SR:0000005", 1), "no server answers at 10.0.0.255:5064": cell("SR:0000005", 3), "lab/rf": cell("SR:0000005", 10),
		"connected, silent": cell("SR:0000006", 1), "": cell("SR:0000006", 4), "7 mbar": cell("SR:0000007", 4), "2026-01-01 13:00:00": cell("SR:0000007", 5),
	} {
		p.wait(fmt.Sprintf("%s === %q", of, want))
	}
	p.wait(cell("SR:0000004", 4) + ` === "too large"`)
	p.shoot("pvs-dark")
	p.run(chromedp.Click(`[aria-label="Light colours"]`))
	p.wait(`document.documentElement.dataset.theme === "light"`)
	p.shoot("pvs-light")
	p.run(emulation.SetDeviceMetricsOverride(3840, 2160, 1, false), chromedp.Reload())
	p.wait(`document.querySelector(".page[data-state=ready] tr[data-pv='SR:0000006']")`)
	p.shoot("pvs-wall")
}

// TestTableFiltersAndSorts checks saved filters, fields and the order, that they are in the URL, and back.
func TestTableFiltersAndSorts(t *testing.T) {
	a := newArchiveOf(t, fleet{pvs: 3000})
	p := open(t, a.prefixed.URL+"/archive/pvs")
	p.wait(`document.querySelector("[data-matched='3000']")`)
	p.run(chromedp.Click(`//a[text()="Never connected"]`))
	p.wait(`document.querySelector("[data-matched='1']") && location.pathname === "/archive/pvs" && location.search === "?only=neverConnected" && ` + cell("SR:0000005", 1) + ` === "searching"`)
	p.run(chromedp.Evaluate("history.back()", nil))
	p.wait(`document.querySelector("[data-matched='3000']")`)
	p.run(chromedp.SendKeys(`.filters input`, "0017"))
	p.wait(`document.querySelector("[data-matched='111']") && location.search === "?pv=0017"`)
	p.run(chromedp.Click(`//th//button[text()="Samples/s"]`))
	p.wait(`location.search === "?pv=0017&sort=rate" && document.querySelector("tbody tr")?.dataset.pv === "SR:0001799"`)
	p.run(chromedp.Click(`//th//button[text()="Samples/s"]`))
	p.wait(`location.search === "?pv=0017&sort=rate&order=reversed" && document.querySelector("tbody tr")?.dataset.pv === "SR:0000017"`)
	p.run(chromedp.Reload())
	p.wait(`document.querySelector("tbody tr")?.dataset.pv === "SR:0000017" && document.querySelector(".filters input").value === "0017"`)
	p.run(chromedp.Click(`tr[data-pv='SR:0001700'] th a`))
	p.wait(`location.pathname === "/archive/" && location.search.startsWith("?pv=SR:0001700&") && document.querySelector(".value[data-pv='SR:0001700']")`)
	p.run(chromedp.Evaluate("history.back()", nil))
	p.wait(`document.querySelector("tbody tr")?.dataset.pv === "SR:0000017"`)
	p.run(chromedp.SendKeys(`.filters input`, "XYZ"))
	p.wait(`document.querySelector("[data-matched='0']")?.innerText === "No captured PV passes the filters."`)
}

// TestLong_TableOfManyScrolls checks that the table scrolls through a million PVs by pointer and keys, and
// holds only the rows in view.
func TestLong_TableOfManyScrolls(t *testing.T) {
	a := newArchiveOf(t, fleet{pvs: 1_000_000})
	p := open(t, a.server.URL+"/pvs")
	p.wait(`document.querySelector("[data-matched='1000000']") && document.querySelector("table")?.ariaRowCount === "1000001"`)
	p.run(chromedp.Evaluate(`document.querySelector(".pvs").scrollTop = document.querySelector(".pvs").scrollHeight; 0`, nil))
	p.wait(`[...document.querySelectorAll("tbody tr")].at(-1)?.dataset.pv === "SR:0999999"`)
	p.wait(`document.querySelectorAll("tbody tr").length < 60`)
	p.run(chromedp.Focus(`tbody tr:last-child th a`), chromedp.KeyEvent(kb.Home))
	p.wait(`document.activeElement.innerText === "SR:0000000"`)
	p.run(chromedp.KeyEvent(kb.ArrowDown))
	p.wait(`document.activeElement.innerText === "SR:0000001"`)
	p.run(chromedp.KeyEvent(kb.Enter))
	p.wait(`location.search.startsWith("?pv=SR:0000001&")`)
}

// TestTableWithoutTheArchive checks what the page says while the archive is away, and that it goes on.
func TestTableWithoutTheArchive(t *testing.T) {
	a := newArchiveOf(t, fleet{pvs: 30})
	p := open(t, a.server.URL+"/pvs")
	p.wait(`document.querySelector("[data-matched='30']")`)
	p.run(chromedp.Evaluate(`window.realFetch = window.fetch; window.fetch = () => Promise.reject(new TypeError("away")); 0`, nil))
	p.run(chromedp.Click(`//a[text()="Paused"]`))
	p.wait(`document.querySelector(".page[data-state=failed] [role=alert]")?.innerText === "The archive does not answer."`)
	p.run(chromedp.Evaluate(`window.fetch = window.realFetch; 0`, nil))
	p.wait(`document.querySelector(".page[data-state=ready] [data-matched='0']")`)
}

// clustered is a fleet of two engines, as a retrieval pod sees it.
type clustered struct{ fleet }

func (c clustered) Statuses(ctx context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		i := 0
		for s, err := range c.fleet.Statuses(ctx) {
			s.Engine = fmt.Sprintf("main-engine-%d", i%2)
			if i++; !yield(s, err) {
				return
			}
		}
	}
}

// TestTableShowsEngines checks the column, the filter and the order of engines, which only a cluster has.
func TestTableShowsEngines(t *testing.T) {
	a := newArchiveOf(t, clustered{fleet{pvs: 30}})
	p := open(t, a.server.URL+"/pvs")
	p.wait(cell("SR:0000001", 11) + ` === "main-engine-1"`)
	p.run(chromedp.Click(`//th//button[text()="Engine"]`))
	p.wait(`location.search === "?sort=engine" && document.querySelectorAll("tbody tr")[1]?.dataset.pv === "SR:0000002"`)
	p.run(chromedp.Click(`//a[text()="main-engine-0"]`))
	p.wait(`location.search === "?engine=main-engine-0" && document.querySelector("[data-matched='15']")`)
	b := newArchiveOf(t, fleet{pvs: 30})
	p = open(t, b.server.URL+"/pvs")
	p.wait(`document.querySelector("tr[data-pv='SR:0000001']") && ![...document.querySelectorAll("th")].some((e) => e.innerText.startsWith("Engine"))`)
}
