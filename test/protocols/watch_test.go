package protocols

import (
	_ "embed"
	"encoding/json"
	"testing"

	"varve.dev/varve/test/epics"
)

// update is an update of a PV, from an independent client or from the archive.
type update struct {
	Time             int64 // ns since 1970
	Value            any   // numbers are json.Number; NaN and infinities are strings
	Severity, Status int
}

// metadata is what a PV tells about its values.
type metadata struct {
	Units      string
	Precision  int
	Limits     map[string]float64 // finite ones
	Labels     []string
	Properties map[string]string // such as DESC
}

// seen is what an independent client saw of a PV.
type seen struct {
	Updates  []update
	Metadata metadata
}

// put changes a PV, upon which PVs have one more update each.
type put struct {
	pv      string
	value   any
	changes []string
}

// MarshalJSON implements json.Marshaler.
func (p put) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{p.pv, p.value, append([]string{}, p.changes...)})
}

// Clients that watch PVs: with pyepics and caproto, and with p4p.
var (
	//go:embed testdata/watch_ca.py
	watchCA string
	//go:embed testdata/watch_pva.py
	watchPVA string
)

// watch has an independent client watch PVs while it puts values, and returns what
// it saw.
func watch(t *testing.T, ioc *epics.IOC, client string, pvs []string, puts ...put) map[string]seen {
	t.Helper()
	job, err := json.Marshal(map[string]any{"pvs": pvs, "puts": append([]put{}, puts...)})
	if err != nil {
		t.Fatal(err)
	}
	var saw map[string]seen
	decode(t, ioc.Feed(job, client), &saw)
	return saw
}
