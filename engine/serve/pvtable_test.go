package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/native"
)

type tablePage struct {
	Total, Matched, Reachable, Offset int
	PVs                               []struct {
		PV, State, Cause, Label, Engine string
		Storage                         float64
		Last                            *struct{ Value json.RawMessage }
	}
	Error string
}

func (p *tablePage) names() (names []string) {
	for _, r := range p.PVs {
		names = append(names, r.PV)
	}
	return names
}

// tableOf serves the table of some states.
func tableOf(t *testing.T, c native.Channels) func(query string) tablePage {
	t.Helper()
	reg := prometheus.NewRegistry()
	h, err := New(&Config{
		Reader: &query.Reader{Store: openStore(t), Shards: 1}, Channels: c, Gatherer: reg, Metrics: NewMetrics(reg), Registerer: reg, Reads: 2,
		Ready: func() error { return nil }, Version: "test", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(q string) (p tablePage) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/pvs?"+q, nil))
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatalf("%s is %s: %v", q, w.Body, err)
		}
		return p
	}
}

// TestTableFiltersSortsAndPages checks the filters, the orders and the pages of the table of PVs.
func TestTableFiltersSortsAndPages(t *testing.T) {
	c := channels{
		{PV: "A", Group: "lab/x", Engine: "e2", State: capture.Connected, Connects: 3, LostConnections: 2, Rate: 1, Received: 10, Type: sample.Float64, Count: 1},
		{PV: "B", Group: "lab/x", Engine: "e1", State: capture.Searching, Cause: "No server answers"},
		{PV: "C", Group: "lab/y", State: capture.Connected, Connects: 1, Silent: true, Type: sample.Enum, HasLast: true, Last: sample.Sample{Word: 1}, Metadata: &sample.Metadata{Labels: []string{"Off", "On"}}},
		{PV: "D", Group: "lab/y", State: capture.Connected, Connects: 1, Rate: 0.5, Received: 10, Type: sample.Float64.Array(), Count: 1000},
		{PV: "E", Group: "lab/y", State: capture.Connected, Type: sample.String, HasLast: true, Last: sample.Sample{Bytes: []byte(strings.Repeat("x", 4000))}},
	}
	get := tableOf(t, &c)
	for q, want := range map[string]string{
		"": "[A B C D E]", "pv=*C*": "[C]", "state=searching": "[B]", "group=lab/y": "[C D E]", "cause=NO+SERVER": "[B]", "engine=e2": "[A]", "engine=e": "[]",
		"only=neverConnected": "[B]", "only=silent": "[C]", "only=lostConnections": "[A]", "only=arrays": "[D]", "only=dropped": "[]",
		"limit=2": "[A B]", "limit=2&offset=3": "[D E]", "offset=9": "[]", "after=B&limit=2": "[C D]",
		"sort=rate": "[A D B C E]", "sort=storage&limit=1": "[D]", "sort=rate&order=reversed&limit=4": "[B C E D]", "order=reversed": "[E D C B A]",
		"sort=rate&offset=1&limit=1": "[D]", "sort=engine&order=reversed&limit=3": "[A B C]", "sort=engine": "[C D E B A]",
	} {
		if got := get(q); got.Total != 5 || fmt.Sprint(got.names()) != want {
			t.Errorf("%q returns %v of %d, want %s", q, got.names(), got.Total, want)
		}
	}
	if p := get("group=lab/y&limit=1"); p.Matched != 3 || p.Reachable != 3 || p.PVs[0].Label != "On" {
		t.Errorf("a page of a group is %+v", p)
	}
	if p := get("pv=A"); p.PVs[0].Engine != "e2" {
		t.Errorf("the engine of a row is %q", p.PVs[0].Engine)
	}
	if p := get("pv=E"); p.PVs[0].Last == nil || p.PVs[0].Last.Value != nil {
		t.Errorf("the row of a large value is %+v", p.PVs[0].Last)
	}
	for q, want := range map[string]string{
		"only=quiet": "parameter only", "sort=rate&offset=9999&limit=2": "may be 10000", "sort=rate&after=A": "parameter after", "offset=1&after=A": "parameter after", "page=1": "page",
	} {
		if got := get(q); !strings.Contains(got.Error, want) {
			t.Errorf("%q returns the error %q, want %q", q, got.Error, want)
		}
	}
}

// TestTableFollowsChanges checks that pages after a name have each PV once, although others come and go.
func TestTableFollowsChanges(t *testing.T) {
	c := channels{{PV: "B"}, {PV: "D"}, {PV: "F"}, {PV: "H"}}
	get := tableOf(t, &c)
	first := get("limit=2")
	c = channels{{PV: "A"}, {PV: "D"}, {PV: "E"}, {PV: "F"}, {PV: "H"}}
	rest := get("limit=10&after=" + first.PVs[1].PV)
	if got := fmt.Sprint(first.names(), rest.names()); got != "[B D] [E F H]" {
		t.Errorf("the pages are %s", got)
	}
}

// million yields the states of a million PVs without holding them, so that a test can measure what
// the server holds.
type million struct{ peak uint64 }

func (m *million) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		for i := range 1_000_000 {
			if i%500_000 == 499_999 {
				runtime.GC()
				var s runtime.MemStats
				runtime.ReadMemStats(&s)
				m.peak = max(m.peak, s.HeapAlloc)
			}
			if !yield(capture.Status{PV: fmt.Sprintf("PV:%07d", i), Group: "lab/x", Rate: float64(i * 7919 % 1_000_003)}, nil) {
				return
			}
		}
	}
}

func (m *million) Status(context.Context, string) (s capture.Status, captured bool, err error) {
	return s, false, nil
}

// TestLong_TableOfAMillion checks that a page of a million PVs needs memory for its rows only.
func TestLong_TableOfAMillion(t *testing.T) {
	m := &million{}
	get := tableOf(t, m)
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	if p := get("offset=900000&limit=50"); p.Total != 1_000_000 || p.Reachable != 1_000_000 || p.PVs[0].PV != "PV:0900000" || len(p.PVs) != 50 {
		t.Errorf("the page has %v of %d", p.names(), p.Total)
	}
	if p := get("sort=rate&offset=9900&limit=100&pv=" + url.QueryEscape("PV:*")); p.Reachable != 10000 || p.Matched != 1_000_000 || len(p.PVs) != 100 {
		t.Errorf("the page of an order has %d of %d", len(p.PVs), p.Matched)
	}
	if held := int64(m.peak) - int64(before.HeapAlloc); held > 64<<20 {
		t.Errorf("a request holds %d MiB", held>>20)
	}
}
