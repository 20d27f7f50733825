package protocols

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/url"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// decode decodes JSON and keeps numbers as they are written.
func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("decoding JSON: %v\n%.300s", err, text)
	}
}

// getJSON requests a path of an archive and decodes the answer.
func getJSON(t *testing.T, a *program.Archiver, path string, q url.Values, into any) {
	t.Helper()
	code, text := a.Get(path, q)
	if code != 200 {
		t.Fatalf("%s?%s returns %d: %s", path, q.Encode(), code, text)
	}
	decode(t, text, into)
}

// all returns the query for all samples of a PV.
func all(pv string) url.Values { return url.Values{"pv": {pv}, "from": {"1980-01-01T00:00:00Z"}} }

// readJSON reads a PV in the JSON format of the Archiver Appliance.
func readJSON(t *testing.T, a *program.Archiver, pv string) (updates []update) {
	t.Helper()
	var answer []struct {
		Data []struct {
			Secs, Nanos      int64
			Val              any
			Severity, Status int
		}
	}
	getJSON(t, a, "/retrieval/data/getData.json", all(pv), &answer)
	for _, part := range answer {
		for _, d := range part.Data {
			updates = append(updates, update{d.Secs*1e9 + d.Nanos, d.Val, d.Severity, d.Status})
		}
	}
	return updates
}

//go:embed testdata/raw.py
var raw string

// readRaw reads PVs in the binary format of the Archiver Appliance with one of the Appliance's
// clients.
func readRaw(t *testing.T, a *program.Archiver, pvs []string) map[string][]update {
	t.Helper()
	var updates map[string][]update
	decode(t, epics.RunClients(t, raw, append([]string{a.URL}, pvs...)...), &updates)
	return updates
}

// native is the answer of /api/v1/samples for a PV.
type native struct {
	Metadata metadata
	Runs     []run
	Marks    []struct{ Kind, Text string }
}

// run is a sequence of samples of one type.
type run struct {
	Type    string
	Samples []struct {
		Time             time.Time
		Value            any
		Severity, Status string
	}
}

// severities are the names of the alarm severities in ascending order.
var severities = []string{"NO_ALARM", "MINOR", "MAJOR", "INVALID"}

// readNative reads a PV in Varve's own JSON.
func readNative(t *testing.T, a *program.Archiver, pv string) (n native) {
	t.Helper()
	getJSON(t, a, "/api/v1/samples", all(pv), &n)
	return n
}

// updates returns the samples. The Status of these updates is -1, because the answer has only
// the name of the status.
func (n *native) updates() (updates []update) {
	for _, r := range n.Runs {
		for _, s := range r.Samples {
			updates = append(updates, update{s.Time.UnixNano(), s.Value, slices.Index(severities, s.Severity), -1})
		}
	}
	return updates
}
