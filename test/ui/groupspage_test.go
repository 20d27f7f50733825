package ui

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestGroupsPage checks the list of groups, the page of a group with and without PVs, and the errors for an
// unknown group and for a refused request.
func TestGroupsPage(t *testing.T) {
	a, k := newOverview(t)
	p := open(t, a.server.URL+"/groups")
	p.text(`[data-group="lab/vacuum"]`, "1 of 3 PVs have never connected")
	p.text(`[data-group="lab/vacuum"]`, "every update; deadband 0.03; at most 5 samples/s")
	p.text(`[data-group="lab/vacuum"]`, "raw samples are kept for 30d, rollups of 10s for 1y")
	p.text(`[data-group="lab/idle"]`, "no PV is captured for the group")
	p.run(chromedp.SendKeys(`input[type=search]`, "IDL"))
	p.wait(`document.querySelectorAll("[data-group]").length === 1 && location.search === "?q=IDL"`)
	p.run(chromedp.SendKeys(`input[type=search]`, "x"))
	p.text(".fine", "No group has “IDLx” in its name.")
	p.run(chromedp.Navigate(a.server.URL+"/groups"), chromedp.Click(`[data-group="lab/vacuum"] a`))
	p.wait(`location.search === "?group=lab%2Fvacuum"`)
	p.text(".problems .error", "1 of 3 PVs are disconnected")
	p.text(".problems .error", "Look at their IOC and at the network")
	p.text(".problems .warning", "9 samples were lost since the engines started: overrun")
	p.text("[aria-label='PVs with problems']", "no server answers")
	p.text(".settings", "the group: 3, 1 with settings of their own")
	p.wait(`document.querySelector("[data-state-of=searching] a").getAttribute("href") === "./pvs?group=lab%2Fvacuum&state=searching"`)
	p.run(chromedp.Navigate(a.server.URL + "/groups?group=idle"))
	p.text("section", "No PV is captured for this group.")
	p.run(chromedp.Navigate(a.server.URL + "/groups?group=lab/vacum"))
	p.text(".banner", `the archive has no group "lab/vacum"; did you mean lab/vacuum?`)
	k.refuse.Store(429)
	p.run(chromedp.Navigate(a.server.URL + "/groups"))
	p.text(".banner", "It tries again in ")
	k.refuse.Store(0)
	p.text(`[data-group="lab/idle"]`, "no PVs")
}

// TestGroupForm writes a manifest with the form, and checks that each wrong field shows its error.
func TestGroupForm(t *testing.T) {
	a, k := newOverview(t)
	p := open(t, a.server.URL+"/groups?form=new")
	p.text("[data-field=name]", "Required value")
	p.value("name", "Vacuum_1")
	p.text("[data-field=name].wrong", "lowercase RFC 1123")
	p.value("name", "vacuum-1")
	p.value("pvs", "SR:A\nSR:A.VAL")
	p.text("[data-field=pvs].wrong", "the same PV as")
	p.value("pvs", "SR:A\n\n SR:B ")
	p.value("mode", "Scan")
	p.text("[data-field=period].wrong", "period is required for mode Scan")
	p.value("period", "10 s")
	p.text("[data-field=period].wrong", "write a number and one of the units")
	p.value("period", "10s")
	p.value("raw", "3 months")
	p.text("[data-field=raw].wrong", "months differ in length: write 90d")
	p.wait(`document.getElementById("raw").getAttribute("aria-invalid") === "true" && document.getElementById("raw-error")`)
	p.shoot("form-wrong")
	p.value("raw", "90d")
	p.wait(`document.querySelector(".result[data-valid=yes]")`)
	var yaml string
	p.eval(`document.querySelector(".yaml").innerText`, &yaml)
	const want = "apiVersion: varve.dev/v1alpha1\nkind: ArchiveGroup\nmetadata:\n  name: vacuum-1\n  namespace: default\nspec:\n  archiverRef:\n    name: main\n" +
		"  channels:\n  - name: SR:A\n  - name: SR:B\n  retention:\n    raw: 90d\n  sampling:\n    mode: Scan\n    period: 10s\n"
	if yaml != want {
		t.Errorf("the manifest is\n%s\nwant\n%s", yaml, want)
	}
	k.refuse.Store(503)
	p.value("raw", "91d")
	p.text(".result", "The manifest was not checked: the archive serves as many reads as it can")
	k.refuse.Store(0)
	p.wait(`document.querySelector(".result[data-valid=yes]")`)
	p.text(".yaml", "raw: 91d")
}

// TestGroupPatch changes a group in the form, with the keyboard only. The patch leaves the fields that the form
// does not show as they are.
func TestGroupPatch(t *testing.T) {
	a, _ := newOverview(t)
	p := open(t, a.server.URL+"/groups?group=lab/vacuum&form=1")
	p.wait(`document.querySelector(".result[data-valid=yes]")`)
	p.text(".result", "Nothing differs from the settings in effect.")
	p.run(chromedp.Focus("#maxRate"), chromedp.KeyEvent(kb.End), chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent("2"))
	p.text(".patch", `kubectl patch archivegroup vacuum -n lab --type merge -p '{"spec":{"sampling":{"maxRate":2}}}'`)
	p.run(chromedp.KeyEvent(kb.Backspace))
	p.text(".patch", `'{"spec":{"sampling":{"maxRate":null}}}'`)
	p.text(".yaml", "paused: false")
	p.run(chromedp.KeyEvent("x"))
	p.text("[data-field=maxRate].wrong", "number")
	p.run(chromedp.Focus(`[aria-label="Remove rollup 1"]`), chromedp.KeyEvent(kb.Enter), chromedp.Focus("#maxRate"), chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent("5"))
	p.text(".patch", `'{"spec":{"retention":{"rollups":null}}}'`)
	p.run(chromedp.Click(".under a"))
	p.wait(`location.search === "?group=lab%2Fvacuum"`)
}
