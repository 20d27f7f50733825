package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
)

// withDescription returns metadata with a description.
func withDescription(text string) *sample.Metadata {
	return &sample.Metadata{Properties: []sample.Property{{Name: "ADEL", Value: "beam"}, {Name: "DESC", Value: text}}}
}

// countedChannels counts how often all states are read.
type countedChannels struct {
	channels
	reads int
}

func (c *countedChannels) Statuses(ctx context.Context) iter.Seq2[capture.Status, error] {
	c.reads++
	return c.channels.Statuses(ctx)
}

type foundNames struct {
	Names             []string
	Next              string
	Descriptions      map[string]string
	Incomplete, Error string
}

// namesOf serves the names of some states. now is the server's time.
func namesOf(t *testing.T, c *countedChannels, now *time.Time) func(query string) foundNames {
	t.Helper()
	reg := prometheus.NewRegistry()
	h, err := New(&Config{
		Reader: &query.Reader{Store: openStore(t), Shards: 1}, Channels: c, Gatherer: reg, Metrics: NewMetrics(reg), Registerer: reg, Reads: 2,
		Ready: func() error { return nil }, Version: "test", Now: func() time.Time { return *now }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(q string) (f foundNames) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/names?"+q, nil))
		if err := json.Unmarshal(w.Body.Bytes(), &f); err != nil {
			t.Fatalf("%s is %s: %v", q, w.Body, err)
		}
		return f
	}
}

// TestNamesByDescription checks which PVs a search finds.
func TestNamesByDescription(t *testing.T) {
	now := time.Unix(0, newYear)
	find := namesOf(t, &countedChannels{channels: channels{
		{PV: "A:I", Metadata: withDescription("Beam current")}, {PV: "A:P", Metadata: withDescription("Beam Position, horizontal")},
		{PV: "B:BEAM", Metadata: withDescription("Shutter")}, {PV: "B:I", Metadata: withDescription("current of the BEAM dump")}, {PV: "B:NONE"},
		{PV: "B:T", Metadata: withDescription("Temperatur KÜHLWASSER in °C")}, {PV: "C:LONG", Metadata: withDescription(strings.Repeat("x", 300) + "beam")},
	}}, &now)
	for q, want := range map[string]string{
		"description=beam": "[A:I A:P B:I]", "description=CURRENT+Beam": "[A:I B:I]", "description=beam&pv=B*": "[B:I]", "description=beam&after=A:I": "[A:P B:I]",
		"description=k%C3%BChlwasser": "[B:T]", "description=eam+pos": "[A:P]", "description=adel": "[]", "description=none": "[]", "description=beamcurrent": "[]",
	} {
		if got := find(q); fmt.Sprint(got.Names) != want || got.Error != "" || got.Incomplete != "" || got.Next != "" {
			t.Errorf("%s finds %+v, want %s", q, got, want)
		}
	}
	page := find("description=beam&limit=2")
	if fmt.Sprint(page.Names) != "[A:I A:P]" || page.Next != "A:P" || page.Descriptions["A:P"] != "Beam Position, horizontal" {
		t.Errorf("the first page is %+v", page)
	}
	for q, want := range map[string]string{
		"description=%20": "parameter description: it has 0 words", "description=1+2+3+4+5+6+7+8+9": "must have 1 to 8",
		"description=x&near=y": "parameter near: it cannot be combined with description", "description=x&pv=" + url.QueryEscape(strings.Repeat("*", 2000)): "parameter pv",
	} {
		if got := find(q); !strings.Contains(got.Error, want) {
			t.Errorf("%.40s returns %+v, want %q", q, got, want)
		}
	}
}

// TestDescriptionsAreIndexed checks that a search reads the states again only after a while, and sooner if some
// were missing.
func TestDescriptionsAreIndexed(t *testing.T) {
	now := time.Unix(0, newYear)
	c := &countedChannels{channels: channels{{PV: "A", Metadata: withDescription("one")}, {PV: "B", Group: unreachable}}}
	find := namesOf(t, c, &now)
	expect := func(text, want string, reads int, complete bool) {
		t.Helper()
		got := find("description=" + text)
		if fmt.Sprint(got.Names) != want || c.reads != reads || (got.Incomplete == "") != complete {
			t.Errorf("%s finds %+v after %d reads of all states, want %s after %d", text, got, c.reads, want, reads)
		}
	}
	expect("one", "[A]", 1, false)
	expect("one", "[A]", 1, false)
	c.channels = channels{{PV: "A", Metadata: withDescription("two")}}
	now = now.Add(16 * time.Second)
	expect("two", "[A]", 2, true)
	c.channels = append(slices.Clone(c.channels), capture.Status{PV: "C", Metadata: withDescription("two")})
	now = now.Add(4 * time.Minute)
	expect("two", "[A]", 2, true)
	now = now.Add(2 * time.Minute)
	expect("two", "[A C]", 3, true)
}

// TestDescriptionsOfHiddenPVs checks that an index which was built for one user shows another one only the PVs
// that this user may see.
func TestDescriptionsOfHiddenPVs(t *testing.T) {
	g := newGuarded(t, allMethods+secretRule)
	for _, c := range []struct{ token, want string }{
		{g.bob, `{"names":[]}`}, {g.ann, `{"names":["SECRET:A"],"descriptions":{"SECRET:A":"a secret"}}`}, {g.bob, `{"names":[]}`},
	} {
		if res, got := g.ask("/api/v1/names?description=secret", "", c.token); res.StatusCode != 200 || strings.TrimSpace(got) != c.want {
			t.Errorf("the answer is %d %s, want %s", res.StatusCode, got, c.want)
		}
	}
}
