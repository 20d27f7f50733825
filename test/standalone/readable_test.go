package standalone

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/program"
)

// putScript changes a PV repeatedly. After each change, it waits until the archive's last sample
// has the new value. It prints the waiting times in seconds.
const putScript = `
import json, sys, time, urllib.request
import epics
name, url = sys.argv[1:]
web = urllib.request.build_opener(urllib.request.ProxyHandler({}))
pv = epics.PV(name)
pv.wait_for_connection(timeout=10)
took = []
for value in range(10, 40):
    start = time.time()
    pv.put(value, wait=True)
    while True:
        with web.open(url) as answer:
            data = json.load(answer)[0]["data"]
        if data[-1]["val"] == value:
            break
        if time.time() - start > 20:
            sys.exit("%s was put and is not readable; the last sample is %s" % (value, data[-1]))
    took.append(time.time() - start)
json.dump(took, sys.stdout)
`

// TestReadableAtOnce checks that clients can read a change at once, before it is stored. Here
// a change is stored only after a minute.
func TestReadableAtOnce(t *testing.T) {
	ioc := epics.StartIOC(t, `record(ao, "T:SET") { field(VAL, "1") field(PINI, "YES") }`)
	p := &fixture{IOC: ioc, groups: t.TempDir()}
	p.write(t, "set", program.Group("set", "", "T:SET"))
	a := program.Standalone(t, p.ClientEnv(), "-f", p.groups, "--data", t.TempDir(), "--flush", "1m")
	a.AwaitConnected(1)
	var took []float64
	if err := json.Unmarshal(p.Run(putScript, "T:SET", a.URL+"/retrieval/data/getData.json?pv=T:SET"), &took); err != nil {
		t.Fatal(err)
	}
	slices.Sort(took)
	seconds := func(s float64) time.Duration { return time.Duration(s * 1e9).Round(100 * time.Microsecond) }
	median, worst := seconds(took[len(took)/2]), seconds(took[len(took)-1])
	t.Logf("from caput to readable: median %v, worst %v of %d", median, worst, len(took))
}
