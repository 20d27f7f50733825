package clients

import (
	"slices"
	"strings"
	"testing"
)

// callsResult is the output of calls.py.
type callsResult struct {
	Archapp struct {
		Search         []string            `json:"search"`
		Values         []any               `json:"values"`
		Raw            int                 `json:"raw"`
		Snapshot       map[string]snapshot `json:"snapshot"`
		SnapshotOfGlob []string            `json:"snapshotOfGlob"`
	} `json:"archapp"`
	AtTime             map[string]snapshot `json:"atTime"`
	ApplianceInfo      map[string]string   `json:"applianceInfo"`
	Expanded           []string            `json:"expanded"`
	TypeInfo           map[string]any      `json:"typeInfo"`
	NoTypeInfo         any                 `json:"noTypeInfo"`
	Details            int                 `json:"details"`
	Stores             map[string]string   `json:"stores"`
	Change             map[string]string   `json:"change"`
	NeverConnected     []string            `json:"neverConnected"`
	Disconnected       []string            `json:"disconnected"`
	Metrics            []map[string]string `json:"metrics"`
	MetricsOfAppliance int                 `json:"metricsOfAppliance"`
	Policies           map[string]string   `json:"policies"`
	Pause              int                 `json:"pause"`
	Matlab             map[string]matlab   `json:"matlab"`
}

// snapshot is the sample of a PV at a time.
type snapshot struct {
	event
	Meta struct{ DBRType string } `json:"meta"`
}

// matlab is what SciPy reads from a MATLAB file of one PV.
type matlab struct {
	Seconds    []int64 `json:"seconds"`
	Nanos      []int64 `json:"nanos"`
	Severities []int   `json:"severities"`
	Values     []any   `json:"values"`
}

// TestClientsCall checks archapp, the calls of aapy and pyarchappl that do not read a range of samples,
// and MATLAB files, which SciPy reads.
func TestClientsCall(t *testing.T) {
	pvs := []pv{shorts(), floats(), waveforms()}
	names := []string{pvs[0].name, pvs[1].name, pvs[2].name}
	u := server(t, pvs)
	host, port := hostPort(t, u)
	var r callsResult
	python(t, &r, append([]string{"testdata/calls.py", host, port, "2026-01-01T00:00:05Z", "2025-12-31T00:00:00Z", "2026-01-02T00:00:00Z"}, names...)...)
	t.Run("archapp", func(t *testing.T) { checkArchapp(t, &r, pvs) })
	t.Run("at a time", func(t *testing.T) { checkSnapshot(t, r.AtTime, pvs) })
	t.Run("management", func(t *testing.T) { checkCalls(t, &r, u.Host) })
	t.Run("matlab", func(t *testing.T) {
		for i := range pvs {
			checkMatlab(t, &pvs[i], r.Matlab[pvs[i].name])
		}
	})
}

func checkArchapp(t *testing.T, r *callsResult, pvs []pv) {
	a := &r.Archapp
	if strings.Join(a.Search, " ") != "T:FLOATS" || strings.Join(a.SnapshotOfGlob, " ") != "T:SHORTS" {
		t.Errorf("archapp finds %v, and its snapshot of a pattern has %v", a.Search, a.SnapshotOfGlob)
	}
	if a.Raw != len(pvs[0].values) || !slices.EqualFunc(pvs[0].values, a.Values, equal) {
		t.Errorf("archapp reads %d samples: %v", a.Raw, a.Values)
	}
	checkSnapshot(t, a.Snapshot, pvs)
}

// checkSnapshot compares a snapshot with the last samples of the PVs.
func checkSnapshot(t *testing.T, got map[string]snapshot, pvs []pv) {
	t.Helper()
	if len(got) != len(pvs) {
		t.Errorf("the snapshot has %d PVs", len(got))
	}
	for i := range pvs {
		p, last := &pvs[i], len(pvs[i].values)-1
		e, tag := got[p.name], p.run.Tags[last]
		if e.time() != p.run.Times[last] || int(e.Severity) != int(tag.Severity()) || int(e.Status) != int(tag.Status()) || !equal(p.values[last], e.Val) ||
			!strings.HasPrefix(e.Meta.DBRType, "DBR_") {
			t.Errorf("the snapshot of %s is %+v, want %v", p.name, e, p.values[last])
		}
	}
}

func checkCalls(t *testing.T, r *callsResult, host string) {
	if i := r.ApplianceInfo; i["identity"] != "varve" || i["version"] != "Varve test" || i["mgmtURL"] != "http://"+host+"/mgmt/bpl" {
		t.Errorf("the appliance is %v", i)
	}
	if strings.Join(r.Expanded, " ") != "T:FLOATS T:SHORTS T:WAVEFORMS" {
		t.Errorf("the expanded names are %v", r.Expanded)
	}
	if r.TypeInfo["DBRType"] != "DBR_SCALAR_SHORT" || r.NoTypeInfo != nil || r.Details < 10 || r.Stores["raw"] == "" {
		t.Errorf("the PV has the type info %v, %d details and the stores %v; an unknown PV has %v",
			r.TypeInfo, r.Details, r.Stores, r.NoTypeInfo)
	}
	if r.Pause != 403 || !strings.Contains(r.Change["validation"], "ArchiveGroup test/group") {
		t.Errorf("pausing a PV returns status %d to aapy, and %v to pyarchappl", r.Pause, r.Change)
	}
	if len(r.NeverConnected)+len(r.Disconnected) > 0 || len(r.Policies) != 1 {
		t.Errorf("never connected are %v, disconnected %v; groups are %v", r.NeverConnected, r.Disconnected, r.Policies)
	}
	if len(r.Metrics) != 1 || r.Metrics[0]["connectedPVCount"] != "3" || r.MetricsOfAppliance < 5 {
		t.Errorf("the metrics are %v", r.Metrics)
	}
}

func checkMatlab(t *testing.T, p *pv, got matlab) {
	t.Helper()
	if len(got.Values) != len(p.values) || len(got.Seconds) != len(p.values) || len(got.Nanos) != len(p.values) {
		t.Fatalf("%s: SciPy reads %+v", p.name, got)
	}
	for i, v := range got.Values {
		want := p.values[i]
		if _, array := want.([]any); !array {
			v = flat(want, v.([]any))
		}
		if !equal(want, v) || got.Seconds[i]*1e9+got.Nanos[i] != p.run.Times[i] || got.Severities[i] != int(p.run.Tags[i].Severity()) {
			t.Errorf("%s: SciPy reads sample %d as %v at %d.%09d", p.name, i, v, got.Seconds[i], got.Nanos[i])
		}
	}
}
