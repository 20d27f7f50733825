package protocols

import (
	_ "embed"
	"encoding/json"
	"testing"

	"varve.dev/varve/test/epics"
)

// update is an update of a PV that an independent client or the archive returned.
type update struct {
	Time             int64 // ns since 1970
	Value            any   // numbers are json.Number; NaN and infinities are strings
	Severity, Status int
}

// metadata describes the values of a PV.
type metadata struct {
	Units      string
	Precision  int
	Limits     map[string]float64 // finite ones
	Labels     []string
	Properties map[string]string // such as DESC
}

// seen holds the data of a PV that an independent client received.
type seen struct {
	Updates  []update
	Metadata metadata
}

// put changes a PV. Each PV in changes then sends one more update.
type put struct {
	pv      string
	value   any
	changes []string
}

// MarshalJSON implements json.Marshaler.
func (p put) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{p.pv, p.value, append([]string{}, p.changes...)})
}

// These scripts watch PVs: watchCA uses pyepics and caproto, and watchPVA uses p4p.
var (
	//go:embed testdata/watch_ca.py
	watchCA string
	//go:embed testdata/watch_pva.py
	watchPVA string
)

// watch runs an independent client that watches PVs and puts values at the same time. It
// returns the data that the client received.
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
