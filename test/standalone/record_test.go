package standalone

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"varve.dev/varve/test/archive"
)

// recordScript monitors PVs with EPICS's own client library. It prints each update: name, time in
// ns since 1970, value, severity, status.
const recordScript = `
import json, sys, time
import epics
from epics.dbr import DBE_LOG, DBE_ALARM
got = []
def take(pvname, value, severity, status, posixseconds, nanoseconds, **_):
    got.append((pvname, int(posixseconds) * 10**9 + int(nanoseconds), value, severity, status))
pvs = [epics.PV(name, callback=take, form='time', auto_monitor=DBE_LOG | DBE_ALARM) for name in sys.argv[2:]]
time.sleep(float(sys.argv[1]))
for pv in pvs:
    pv.clear_callbacks()
json.dump(got, sys.stdout)
`

// record monitors PVs with an independent client for d, and returns the updates that the
// client receives.
func (p *fixture) record(t *testing.T, d time.Duration, pvs ...string) map[string][]archive.Event {
	t.Helper()
	out := p.Run(recordScript, append([]string{strconv.FormatFloat(d.Seconds(), 'f', 1, 64)}, pvs...)...)
	var raw []json.RawMessage
	if err := json.Unmarshal(out, &raw); err != nil {
		t.Fatalf("decoding the client's record: %v\n%.300s", err, out)
	}
	got := map[string][]archive.Event{}
	for _, r := range raw {
		var pv string
		var e archive.Event
		if err := json.Unmarshal(r, &[]any{&pv, &e.Time, &e.Value, &e.Severity, &e.Status}); err != nil {
			t.Fatal(err)
		}
		got[pv] = append(got[pv], e)
	}
	return got
}

// compare fails the test unless the archive has exactly the client's updates, from the
// client's first to its last one. It returns the number of the client's updates by severity.
func compare(t *testing.T, pv string, archived, recorded []archive.Event) map[int]int {
	t.Helper()
	seen := map[int]int{}
	if len(recorded) == 0 {
		t.Errorf("%s: the client recorded nothing", pv)
		return seen
	}
	first, last := recorded[0].Time, recorded[len(recorded)-1].Time
	archived = slices.DeleteFunc(slices.Clone(archived), func(e archive.Event) bool { return e.Time < first || e.Time > last })
	for _, e := range recorded {
		seen[e.Severity]++
	}
	if !slices.Equal(archived, recorded) {
		t.Errorf("%s: the archive has %d samples, and the client has %d; the first difference: %+v",
			pv, len(archived), len(recorded), firstDifference(archived, recorded))
	}
	return seen
}

// firstDifference returns the first pair of elements of a and b that differ.
func firstDifference(a, b []archive.Event) (pair [2]archive.Event) {
	for i := range max(len(a), len(b)) {
		pair = [2]archive.Event{}
		if i < len(a) {
			pair[0] = a[i]
		}
		if i < len(b) {
			pair[1] = b[i]
		}
		if pair[0] != pair[1] {
			break
		}
	}
	return pair
}

// spread returns n PVs that are evenly spread over all PVs.
func (p *fixture) spread(n int) []string { return spread(p.pvs, n) }

func spread(pvs []string, n int) []string {
	pick := map[string]bool{}
	for i := range n {
		pick[pvs[i*(len(pvs)-1)/max(1, n-1)]] = true
	}
	return slices.Sorted(maps.Keys(pick))
}
