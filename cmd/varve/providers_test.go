package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"varve.dev/varve/engine/ca"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/pva"
	"varve.dev/varve/engine/spool"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
)

const providersDatabase = `
record(ai, "T:A") { field(VAL, "1.5") field(PINI, "YES") field(EGU, "mbar") field(DESC, "gauge") field(MDEL, "0.25") alias("T:ALIAS") }
record(ai, "T:B") { field(VAL, "2.5") field(PINI, "YES") field(EGU, "A") field(DESC, "magnet") field(MDEL, "0.5") }
record(stringin, "T:S") { field(VAL, "on") field(PINI, "YES") field(DESC, "text") }
`

const providersGroup = `{apiVersion: varve.dev/v1alpha1, kind: ArchiveGroup, metadata: {name: all}, spec: {
  archiverRef: {name: main}, properties: [DESC, MDEL, SCAN],
  channels: [{name: T:A}, {name: T:ALIAS}, {name: "pva://T:B"}, {name: T:S, properties: [DESC]}, {name: T:A.MDEL, properties: [DESC], provider: PVA}]}}`

// channelAnswer is a part of the answer to /api/v1/channels/PV.
type channelAnswer struct {
	State, Provider, Type string
	Stored                int
	Last                  *struct{ Value json.RawMessage }
	Metadata              *struct {
		Units      string
		Properties map[string]string
	}
}

// providersRig is a real IOC and an archiver of its records.
type providersRig struct {
	*WithT
	*archive.Client
	ioc *epics.IOC
}

func startProviders(t *testing.T) *providersRig {
	server := epics.StartIOC(t, providersDatabase)
	return &providersRig{WithT: NewWithT(t), ioc: server, Client: runStandalone(t,
		ca.Config{Config: clienttest.ByTCP(server.CAAddr())}, pva.Config{Config: clienttest.ByTCP(server.PVAAddr())}, providersGroup)}
}

// runStandalone archives a group until the test ends.
func runStandalone(t *testing.T, c ca.Config, p pva.Config, group string) *archive.Client {
	s, err := openStandalone(t.Context(), &standaloneOptions{
		pipelineOptions: pipelineOptions{
			storage: storageOptions{dir: t.TempDir()}, memory: 64 << 20, spoolSize: spool.MinSize, flush: 50 * time.Millisecond, checkpoint: time.Minute,
			ca: c, pva: p,
		},
		file: writeFile(t, t.TempDir(), "all.yaml", group), listen: "127.0.0.1:0", log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return archive.NewClient(s.url(), time.Minute)
}

// channel returns the state of a channel. It returns the zero value while the archiver does
// not know the channel.
func (r *providersRig) channel(pv string) (a channelAnswer) {
	_ = r.Decode("/api/v1/channels/"+url.PathEscape(pv), nil, &a) // callers repeat the call until they get what they expect
	return a
}

// eventually waits until a channel has the given properties.
func (r *providersRig) eventually(pv string, properties map[string]string) {
	r.Eventually(func() map[string]string {
		if a := r.channel(pv); a.Metadata != nil {
			return a.Metadata.Properties
		}
		return nil
	}).WithTimeout(3*time.Minute).WithPolling(100*time.Millisecond).Should(Equal(properties), pv)
}

// TestBothProviders archives records of a real IOC by both protocols. It checks the values,
// their metadata and their properties. The PVs include an alias, a field of a record, and a
// string.
func TestBothProviders(t *testing.T) {
	r := startProviders(t)
	gauge := map[string]string{"DESC": "gauge", "MDEL": "0.25", "SCAN": "Passive"}
	r.eventually("T:A", gauge)
	r.eventually("T:ALIAS", gauge)
	r.eventually("T:B", map[string]string{"DESC": "magnet", "MDEL": "0.5", "SCAN": "Passive"})
	r.eventually("T:S", map[string]string{"DESC": "text"})
	r.eventually("T:A.MDEL", map[string]string{"DESC": "gauge"})
	for pv, want := range map[string]string{"T:A": "ca float64 1.5 mbar", "T:B": "pva float64 2.5 A", "T:S": `ca string "on" `, "T:A.MDEL": "pva float64 0.25 mbar"} {
		a := r.channel(pv)
		r.Expect(fmt.Sprintf("%s %s %s %s", a.Provider, a.Type, a.Last.Value, a.Metadata.Units)).To(Equal(want), pv)
	}

	changed := maps.Clone(gauge)
	changed["DESC"], changed["SCAN"] = "broken", "1 second"
	r.ioc.Shell("dbpf T:A.DESC broken")
	r.ioc.Shell("dbpf T:A.SCAN '1 second'")
	r.eventually("T:A", changed)
	r.eventually("T:ALIAS", changed)
}

// tables serves a structure that has neither alarm nor time stamp.
const tables = `
import time
from p4p import Type, Value
from p4p.server import Server
from p4p.server.thread import SharedPV
t = Type([("a", "i"), ("b", ("S", None, [("c", "s"), ("d", "ad")])), ("e", "s")])
pv = SharedPV(initial=Value(t, {"a": 1, "b": {"c": "x", "d": [1.5, 2.5]}, "e": "left out"}))
with Server(providers=[{"T:BARE": pv}]):
    time.sleep(600)
`

// TestFieldsOfAStructure checks that only the requested fields of a structure are archived.
func TestFieldsOfAStructure(t *testing.T) {
	g := NewWithT(t)
	server := epics.StartPVAServer(t, tables)
	r := &providersRig{WithT: g, Client: runStandalone(t, ca.Config{}, pva.Config{Config: clienttest.ByTCP(server.PVAAddr())},
		`{apiVersion: varve.dev/v1alpha1, kind: ArchiveGroup, metadata: {name: all}, spec: {
		  archiverRef: {name: main}, provider: PVA, fields: [a, b.d, nope], channels: [{name: T:BARE}, {name: "ca://T:BARE2"}]}}`)}
	g.Eventually(func() string {
		if a := r.channel("T:BARE"); a.Last != nil {
			return a.Type + " " + string(a.Last.Value)
		}
		return ""
	}).WithTimeout(3 * time.Minute).WithPolling(100 * time.Millisecond).Should(Equal(`struct {"a":1,"b":{"d":[1.5,2.5]}}`))
}

// TestTypesOfRecordsChange checks that the archive continues under the same names after an IOC
// has returned with other types.
func TestTypesOfRecordsChange(t *testing.T) {
	r := startProviders(t)
	stored := func(pv string) func() []string {
		return func() (types []string) {
			var a struct {
				Runs []struct {
					Type    string
					Samples []struct{ Value any }
				}
			}
			_ = r.Decode("/api/v1/samples", url.Values{"pv": {pv}, "from": {time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}}, &a)
			for _, run := range a.Runs {
				types = append(types, fmt.Sprint(run.Type, " ", run.Samples[len(run.Samples)-1].Value))
			}
			return types
		}
	}
	for _, pv := range []string{"T:A", "T:B"} {
		r.Eventually(stored(pv)).WithTimeout(3 * time.Minute).WithPolling(100 * time.Millisecond).Should(HaveLen(1))
	}
	r.ioc.Stop()
	r.ioc.SetDatabase(`
record(longin, "T:A") { field(VAL, "7") field(PINI, "YES") }
record(stringin, "T:B") { field(VAL, "seven") field(PINI, "YES") }
`)
	r.ioc.Start()
	r.Eventually(stored("T:A")).WithTimeout(3 * time.Minute).WithPolling(100 * time.Millisecond).Should(ConsistOf("float64 1.5", "int32 7"))
	r.Eventually(stored("T:B")).WithTimeout(3 * time.Minute).WithPolling(100 * time.Millisecond).Should(ConsistOf("float64 2.5", "string seven"))
	var marks struct {
		Marks []struct{ Kind, Text string }
	}
	r.Expect(r.Decode("/api/v1/marks", url.Values{"pv": {"T:B"}, "from": {time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}}, &marks)).To(Succeed())
	r.Expect(marks.Marks).To(ContainElement(struct{ Kind, Text string }{"type_changed", "float64 to string"}))
}
