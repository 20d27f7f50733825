package ui

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/groups/manifest"
	"varve.dev/varve/groups/summary"
)

// groups are the manifests of the known groups. The group lab/idle has no PVs.
const groups = `
apiVersion: varve.dev/v1alpha1
kind: ArchiveGroup
metadata: {name: vacuum, namespace: lab}
spec:
  archiverRef: {name: main}
  sampling: {deadband: {absolute: 0.03}, maxRate: 5}
  retention: {raw: 30d, rollups: [{every: 10s, keep: 1y}]}
  channels: [{name: "SR:CURRENT"}, {name: "SR:LIFETIME", paused: false}, {name: "SR:NEVER"}]
---
apiVersion: varve.dev/v1alpha1
kind: ArchiveGroup
metadata: {name: idle, namespace: lab}
spec: {archiverRef: {name: main}}
`

// known is what a process knows of its archive. Tests change it.
type known struct {
	channels []capture.Status
	fleet    atomic.Pointer[overview.Fleet]
	// refuse is the status code with which all requests of the API are refused, or 0.
	refuse atomic.Int64
}

func (k *known) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		for _, s := range k.channels {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (k *known) Status(_ context.Context, pv string) (s capture.Status, captured bool, err error) {
	for _, s := range k.channels {
		if s.PV == pv {
			return s, true, nil
		}
	}
	return s, false, nil
}

// twoEngines is a fleet of which one engine has twice the load of the mean, and shard 1 moves.
func twoEngines() *overview.Fleet {
	at := time.Unix(0, begin)
	return &overview.Fleet{
		Shards: 2, Captured: 2,
		Engines: []overview.Engine{
			{Engine: "main-engine-a", Version: "test", Started: at, Figures: &overview.Figures{
				Shards: 2, Sealing: 2, Channels: 3, Connected: 2, SamplesPerSecond: 30, BytesPerSecond: 240, Memory: 5e6, Pending: 12,
				Unsealed: &overview.Unsealed{OldestSeconds: 90, KeptSeconds: 86400 * 3}, Clock: overview.Clock{State: overview.ClockRight},
			}},
			{Engine: "main-engine-b", Version: "test", Started: at, Figures: &overview.Figures{
				Shards: 1, Channels: 1, Connected: 1, SamplesPerSecond: 10, Memory: 1e6,
				Clock: overview.Clock{State: overview.ClockWrong, OffsetSeconds: -120, Because: "two IOCs and Cassandra agree"},
			}},
		},
		Assigned: []overview.Shard{
			{Shard: 0, Channels: 2, Engines: []overview.ShardEngine{{Engine: "main-engine-a", Phase: "Capturing", Sealing: true}}},
			{Shard: 1, Channels: 1, Engines: []overview.ShardEngine{{Engine: "main-engine-a", Phase: "Capturing", Sealing: true}, {Engine: "main-engine-b", Phase: "Joining"}}},
		},
		Moves: []overview.Move{{Shard: 1, From: "main-engine-a", To: "main-engine-b", Phase: "Joining", Since: at}},
	}
}

// described is a store with a given description.
type described struct {
	store.Store
	is store.Description
}

func (d *described) Describe(context.Context) (store.Description, error) { return d.is, nil }

func (d *described) DescribePV(context.Context, string, int64) (store.PVDescription, error) {
	return store.PVDescription{Parts: d.is.Parts, Estimated: d.is.Estimated}, nil
}

// newOverview returns an archive with known data, groups and engines.
func newOverview(t *testing.T) (*archive, *known) {
	t.Helper()
	return newOverviewOf(t, func(s store.Store) store.Store { return s })
}

// newOverviewOf is newOverview with another store in place of that of the archive.
func newOverviewOf(t *testing.T, in func(store.Store) store.Store) (*archive, *known) {
	t.Helper()
	k := &known{channels: []capture.Status{
		{PV: "SR:CURRENT", Group: "lab/vacuum", State: capture.Connected, Since: begin, Rate: 20, Received: 1000, Stored: 900, Retention: store.Retention{Raw: store.Keep30d}},
		{PV: "SR:LIFETIME", Group: "lab/vacuum", State: capture.Disconnected, Since: begin, Cause: "10.0.0.7:5064: connection reset", Absent: sample.Disconnected, AbsentSince: begin},
		{PV: "SR:NEVER", Group: "lab/vacuum", State: capture.Searching, Since: begin, Cause: "no server answers", Absent: sample.Searching, AbsentSince: begin},
	}}
	k.channels[0].Dropped[sample.Overrun] = 9
	k.fleet.Store(twoEngines())
	r := manifest.Parse("groups.yaml", []byte(groups))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	var list []overview.Group
	for i := range r.Groups {
		list = append(list, summary.Of(&r.Groups[i], "", nil))
	}
	a := newArchive(t)
	a.fill()
	a.fillArrays()
	reg := prometheus.NewRegistry()
	h, err := serve.New(&serve.Config{
		Reader: &query.Reader{Store: in(a.store), Shards: 4}, Channels: k, Gatherer: reg, Metrics: serve.NewMetrics(reg), Registerer: reg, Reads: 8,
		Overview: overview.Sources{
			Engines: func(context.Context) overview.Fleet { return *k.fleet.Load() },
			Groups:  func() ([]overview.Group, string) { return list, "" },
			Check:   func(text []byte) overview.Checked { return summary.Check(text, v1alpha1.ChannelAccess) },
		},
		Ready: func() error { return nil }, Version: "test", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	a.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := k.refuse.Load(); code != 0 && len(r.URL.Path) > 5 && r.URL.Path[:5] == "/api/" {
			w.Header().Set("Retry-After", "1")
			http.Error(w, `{"error":"the archive serves as many reads as it can"}`, int(code))
			return
		}
		h.ServeHTTP(w, r)
	})
	return a, k
}

// text waits until an element contains a text.
func (p *page) text(selector, text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.innerText.replaceAll("\u202f", "").includes(%q))`, selector, text))
}

// value types a text into a field of the form, in place of what is there.
func (p *page) value(id, text string) {
	p.t.Helper()
	var ok bool
	p.eval(fmt.Sprintf(`(() => { const e = document.getElementById(%q); e.focus(); e.value = %q; e.dispatchEvent(new Event(e.tagName === "SELECT" ? "change" : "input", { bubbles: true })); return true })()`, id, text), &ok)
}
