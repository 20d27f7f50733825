package clients

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// TestScriptsChangeTheArchive runs clients that change what is archived, against the program and a real IOC. The clients send no
// token: the archive knows them by their network. Afterwards, the samples of the deleted PV are still there.
func TestScriptsChangeTheArchive(t *testing.T) {
	const pv = "T:SCRIPT"
	ioc := epics.StartIOC(t, `record(calc, "`+pv+`") { field(SCAN, ".1 second") field(INPA, "`+pv+`") field(CALC, "A+1") }`)
	dir := t.TempDir()
	program.WriteGroup(t, dir, "scripts", strings.TrimSuffix(program.Group("scripts", "requests: {groups: [control-room]}"), "  channels:\n"))
	access := filepath.Join(t.TempDir(), "access.yaml")
	if err := os.WriteFile(access, []byte("access: [{networks: [{cidr: 127.0.0.0/8, groups: [control-room]}]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := program.Standalone(t, ioc.ClientEnv(), "-f", dir, "--data", t.TempDir(), "--access", access)
	begin := time.Now()
	u, err := url.Parse(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	host, port := hostPort(t, u)
	var got map[string]any
	python(t, &got, "testdata/scripts.py", host, port, pv)
	done := func(what string) map[string]any {
		return map[string]any{
			"pvName": pv, "status": "ok", "engine_pvName": pv, "engine_status": "ok", "etl_pvName": pv, "etl_status": "ok",
			"engine_desc": "Successfully " + what + " the archiving of PV " + pv,
		}
	}
	if d := cmp.Diff(map[string]any{
		"archive":    []any{map[string]any{"pvName": pv, "status": "Archive request submitted"}},
		"archived":   "Being archived",
		"again":      []any{map[string]any{"pvName": pv, "status": "Already submitted"}},
		"pause":      []any{done("paused")},
		"paused":     "Paused",
		"resume":     []any{done("resumed")},
		"resumed":    "Being archived",
		"change":     map[string]any{"status": "ok", "desc": "Successfully changed the archival parameters for " + pv},
		"abort":      map[string]any{"status": "no", "desc": "PV " + pv + " has been connected, so there is no request to abort; pause and delete it"},
		"tooEarly":   map[string]any{"validation": "We will not stop archiving PV " + pv + " if it is not paused. Please pause recording first."},
		"pauseAgain": []any{done("paused")},
		"delete":     map[string]any{"status": "ok", "validation": ""},
		"deleted":    "Not being archived",
		"unknown":    []any{map[string]any{"pvName": pv, "validation": "PV " + pv + " is not being archived"}},
	}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if n := len(a.Events(pv, begin)); n == 0 {
		t.Error("the samples of the deleted PV are gone")
	}
	if text, err := os.ReadFile(filepath.Join(dir, "scripts.yaml")); err != nil || !strings.HasSuffix(string(text), "  channels: []\n") {
		t.Errorf("the manifest is %v\n%s", err, text)
	}
}
