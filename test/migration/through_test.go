package migration

import (
	"iter"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/upstream"
	"varve.dev/varve/test/program"
)

// noIOCs makes the program search for PVs at an address where nobody is.
var noIOCs = []string{"EPICS_CA_ADDR_LIST=127.0.0.1:9", "EPICS_CA_AUTO_ADDR_LIST=NO", "EPICS_PVA_ADDR_LIST=127.0.0.1:9", "EPICS_PVA_AUTO_ADDR_LIST=NO"}

// serveArchive starts an archiver whose group has a PV that does not exist.
func serveArchive(t *testing.T, data string, flags ...string) *program.Archiver {
	t.Helper()
	groups := t.TempDir()
	program.WriteGroup(t, groups, "none", program.Group("none", "", "THROUGH22:NOWHERE"))
	return program.Standalone(t, noIOCs, append([]string{"-f", groups, "--data", data}, flags...)...)
}

// counts returns the numbers of samples by month.
func counts(months map[string]digest) map[string]int {
	out := map[string]int{}
	for month, d := range months {
		out[month] = d.Count
	}
	return out
}

// countsVia returns the numbers of samples that an archiver has, by PV and month. Values may have a wider type.
func countsVia(t *testing.T, a *program.Archiver, pvs account, from, to int64) map[string]map[string]int {
	t.Helper()
	base, err := url.Parse(a.URL + "/retrieval")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	reader := &upstream.Appliance{Server: upstream.Server{Base: base, Client: &http.Client{Transport: transport}}}
	out := map[string]map[string]int{}
	for pv, months := range digests(t, pvs, func(pv string) iter.Seq2[*sample.Run, error] { return reader.Samples(t.Context(), pv, from, to) }) {
		out[pv] = counts(months)
	}
	return out
}

// TestReadsThroughToAnArchive serves imported files by one archiver, and reads them through another one, which
// has no sample of its own. All samples must be those that the generator of the files wrote.
func TestReadsThroughToAnArchive(t *testing.T) {
	files, imported := t.TempDir(), t.TempDir()
	want := generate(t, files, 14, 60)
	runImport(t, files, imported)
	older := serveArchive(t, imported)
	a := serveArchive(t, t.TempDir(), "--read-through", older.URL)
	base, err := url.Parse(a.URL + "/retrieval")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	reader := &upstream.Appliance{Server: upstream.Server{Base: base, Client: &http.Client{Transport: transport}}}
	from, to := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	got := digests(t, want, func(pv string) iter.Seq2[*sample.Run, error] {
		return reader.Samples(t.Context(), pv, from, to)
	})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("months differ (-files +archive):\n%s", d)
	}
	viaJSON := serveArchive(t, t.TempDir(), "--read-through", "json:"+older.URL+"/archive-access/api/1.0;key=1")
	for pv, months := range countsVia(t, viaJSON, want, from, to) {
		if d := cmp.Diff(counts(want[pv]), months); d != "" {
			t.Errorf("the numbers of samples of %s by JSON archive access differ (-files +archive):\n%s", pv, d)
		}
	}
	viaJSON.Stop()
	_, names := a.Get("/retrieval/bpl/getMatchingPVs", url.Values{"pv": {"*"}})
	for pv := range want {
		if !strings.Contains(string(names), `"`+pv+`"`) {
			t.Errorf("the list of names lacks %s", pv)
		}
		break
	}
	older.Stop()
	for pv := range want {
		code, text := a.Get("/retrieval/data/getData.raw", url.Values{"pv": {pv}, "from": {"2024-12-01T00:00:00Z"}, "to": {"2025-01-01T00:00:00Z"}})
		if code != http.StatusBadGateway {
			t.Errorf("without the older archive: %d %.300s", code, text)
		}
	}
	if _, text := a.Get("/readyz", nil); !strings.Contains(string(text), "warning: the older archive at ") {
		t.Errorf("/readyz says %s", text)
	}
	a.Stop()
}
