package alerts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A row of docs/failure-modes.md with a test that does not exist promises something that nobody checks.
func TestFailureModesNameWhatExists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(docs, "failure-modes.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := newNames(t)
	rows, problems := n.checkPage(string(text))
	for _, p := range problems {
		t.Error("docs/failure-modes.md:", p)
	}
	if rows < 150 {
		t.Errorf("docs/failure-modes.md has only %d rows", rows)
	}
	for alert := range n.alerts {
		if !strings.Contains(string(text), "["+alert+"](") {
			t.Errorf("docs/failure-modes.md has no row with the alert %s: name a test that makes its failure", alert)
		}
	}
}

// soundPage has a row with a name of each kind. They all exist.
const soundPage = `## Engine pod

| failure | capture and samples | readers | shown by | what to do | test |
|---|---|---|---|---|---|
| an engine dies | lost | get a mark | ` +
	"mark `died`, mark `lost` (`overflow`), `varve_spool_dropped_samples_total{reason=\"overflow\"}`, " +
	"Archiver `Degraded` (`EngineLost`), event `EngineDead`, state `searching`, " +
	"[VarveEngineDied](runbooks.md#varveenginedied), log | see [Clocks](faults.md#clocks) | " +
	"`engine: TestADeathIsMarked`, `agent: TestADrain/ends at once without shards`, " +
	"`controllers: The shards reconciler deletionPolicy Delete keeps a group until its data is deleted`, " +
	"`controllers: The API server rejects changes that would lose an archive shards`, " +
	"`test/e2e/elasticity: An archive with redundancy 2 endures kill` |\n"

// TestWrongRowsAreFound changes one name of a sound row at a time.
func TestWrongRowsAreFound(t *testing.T) {
	n := newNames(t)
	if rows, problems := n.checkPage(soundPage); rows != 1 || len(problems) > 0 {
		t.Fatalf("%d sound rows have the problems %q", rows, problems)
	}
	for _, c := range []struct{ old, wrong, want string }{
		{"engine: TestADeathIsMarked", "engine: TestADeathIsMarkedTwice", "package engine has no test TestADeathIsMarkedTwice"},
		{"engine: TestADeathIsMarked", "engines: TestADeathIsMarked", "there are no tests in engines"},
		{"engine: TestADeathIsMarked", "TestADeathIsMarked", "`TestADeathIsMarked` is not `package: test`"},
		{"ends at once without shards", "never ends", `TestADrain of package agent has no case "never ends"`},
		{"endures kill", "endures everything", `has no spec "An archive with redundancy 2 endures everything"`},
		{"redundancy 2 endures", "redundancy two endures", "has no spec"},
		{"keeps a group until", "keeps no group until", "has no spec"},
		{"lose an archive shards", "lose an archive slices", "has no spec"},
		{"`engine: TestADeathIsMarked`, ", "a test of the engine, ", `"a test of the engine" is no test`},
		{"varve_spool_dropped_samples_total", "varve_spool_lost_total", "no process has the metric varve_spool_lost_total"},
		{"{reason=", "{cause=", "varve_spool_dropped_samples_total has no label cause"},
		{`"overflow"`, `"flood"`, "the label reason of varve_spool_dropped_samples_total is never flood"},
		{"{reason=", "{reason", "parse error"},
		{"VarveEngineDied", "VarveEngineGone", "there is no alert VarveEngineGone"},
		{"an engine dies", "as for VarveEngineGone", "there is no alert VarveEngineGone"},
		{"#varveenginedied", "#varveenginegone", "docs/runbooks.md has no section #varveenginegone"},
		{"faults.md#clocks", "fault.md#clocks", "there is no file fault.md"},
		{"faults.md#clocks", "faults.md#watches", "docs/faults.md has no section #watches"},
		{"Archiver `Degraded`", "Archivist `Degraded`", "there is no kind Archivist"},
		{"`Degraded`", "`Broken`", "api/v1alpha1 has no condition Broken"},
		{"`EngineLost`", "`EngineGone`", "api/v1alpha1 has no reason EngineGone"},
		{"mark `died`", "mark `dead`", "there is no mark dead"},
		{"`lost` (`overflow`)", "`lost` (`full`)", "there is no reason full of marks"},
		{"event `EngineDead`", "event `EngineGone`", "controllers has no event EngineGone"},
		{"state `searching`", "state `seeking`", "engine has no state seeking"},
		{"state `searching`", "`searching`", "\"`searching`\" is none of the names that this column may have"},
		{", log", ", somewhere", `"somewhere" is none of the names that this column may have`},
		{"get a mark", "header `Varve-Nothing`", "engine/serve has no header Varve-Nothing"},
		{" see [Clocks](faults.md#clocks) |", "", "5 cells, want 6"},
		{"an engine dies", "", "cell 1 is empty"},
		{"what to do", "do", "the columns are not"},
		{"|---|---|---|---|---|---|\n", "", "line 4: the line below the columns"},
	} {
		page := strings.ReplaceAll(soundPage, c.old, c.wrong)
		if page == soundPage {
			t.Errorf("the page has no %q", c.old)
		}
		_, problems := n.checkPage(page)
		if !strings.Contains(strings.Join(problems, "\n"), c.want) {
			t.Errorf("%q instead of %q: the problems are %q, want one with %q", c.wrong, c.old, problems, c.want)
		}
	}
}
