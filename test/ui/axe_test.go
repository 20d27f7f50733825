package ui

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// axePages are the pages that axe checks, with a condition that holds when a page is complete. Each
// page of the UI has a line.
var axePages = []struct{ name, path, complete string }{
	{"Explore", "/?pv=SR:CURRENT&pv=SR:MODE" + hour, `document.querySelector(".page[data-state=ready]") && document.querySelectorAll(".value[data-rows]").length === 2`},
	{"Explore, x–y plot", "/?pv=SR:CURRENT&pv=SR:MODE&show=xy" + windowed, `document.querySelector(".page[data-state=ready]") && document.querySelector(".distribution-plot canvas")`},
	{"Explore, histogram", "/?pv=SR:MODE&show=histogram" + windowed, `document.querySelector(".page[data-state=ready]") && document.querySelector(".distribution-plot canvas")`},
	{"Explore, heat map", "/?pv=SR:PROFILE&log=colours:SR:PROFILE" + hour, `document.querySelector(".page[data-state=ready] .array .distribution-plot canvas")`},
	{"Explore, empty", "/", `document.querySelector(".page[data-state=empty]")`},
	{"PVs", "/pvs", `document.querySelector(".page[data-state=ready] tr[data-pv='SR:0000006']")`},
	{"Archive", "/archive", `document.querySelector(".page[data-state=ready] table")`},
	{"Groups", "/groups", `document.querySelector(".page[data-state=ready]")`},
	{"New group", "/groups?form=new", `document.querySelector(".page[data-state=ready] form")`},
	{"PV", "/pv?pv=SR:CURRENT&from=2025-12-31T00:00:00Z&to=2026-01-02T00:00:00Z", `document.querySelector(".page[data-state=ready] .gaps")`},
}

// axe runs the rules of WCAG 2 A and AA.
const axe = `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] })
	.then((r) => r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.slice(0, 5).map((n) => n.html.slice(0, 200) + " " + n.failureSummary).join("; ")))`

// TestPagesAreAccessible checks each page in dark and light with axe-core, which npm installs.
func TestPagesAreAccessible(t *testing.T) {
	script, err := os.ReadFile("../../ui/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Skip("this test needs axe-core: run `npm --prefix ui ci`")
	}
	a := newArchiveOf(t, fleet{pvs: 30})
	a.fill()
	a.fillArrays()
	p := open(t, a.server.URL+"/")
	for _, theme := range []string{"dark", "light"} {
		p.run(chromedp.Evaluate(`localStorage.setItem("varve.theme", "`+theme+`")`, nil))
		for _, page := range axePages {
			p.run(chromedp.Navigate(a.server.URL + page.path))
			p.wait(page.complete)
			p.run(chromedp.Evaluate(string(script)+"; 0", nil))
			var violations []string
			p.eval(axe, &violations)
			if len(violations) > 0 {
				t.Errorf("%s in %s:\n%s", page.name, theme, strings.Join(violations, "\n"))
			}
		}
	}
}
