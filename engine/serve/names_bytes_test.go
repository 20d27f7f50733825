package serve

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/store"
)

// TestAnswersWithNamesAreAsBefore compares the answers of every search for names, with and without an index, with what
// encoding/json makes of the names: also of those that JSON escapes, and of answers that are longer than a buffer.
func TestAnswersWithNamesAreAsBefore(t *testing.T) {
	st := openStore(t)
	names := []string{`SR:"Q"`, `SR:<A>`, `SR:B\C`, "SR:ü&b", "SR:\u2028", "SR:\x7f", "SR:\xff", "sr:i", "BR:I"}
	for i := range 6000 {
		names = append(names, fmt.Sprintf("SR-C%02d:PS:QF%d:Current-I", i%40, i))
	}
	captured := capturedNames(slices.Clone(names[:8]))
	for _, pv := range names[4:] {
		if err := st.AddChannel(t.Context(), store.Channel{PV: pv, Shards: []int{1}}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	var handlers []http.Handler
	for _, index := range []*nameindex.Index{nil, nameindex.New(nameindex.Config{Store: st, Captured: captured})} {
		reg := prometheus.NewRegistry()
		h, err := New(&Config{
			Reader:   &query.Reader{Store: st, Shards: 4, Captured: captured.Names, Index: index},
			Channels: &channels{}, Registerer: reg, Gatherer: reg, Metrics: NewMetrics(reg),
			Ready: func() error { return nil }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		handlers = append(handlers, h)
	}
	asJSON := func(names []string) string {
		text, err := json.Marshal(names)
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n"
	}
	with := func(text string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(pv string) bool { return !strings.Contains(pv, text) })
	}
	lines := func(names []string) string { return strings.Join(append(names, ""), "\n") }
	for path, want := range map[string]string{
		"/mgmt/bpl/getAllPVs?limit=-1": asJSON(names),
		"/mgmt/bpl/getAllPVs":          asJSON(names[:500]),
		"/mgmt/bpl/getAllPVs?limit=0":  "[]\n",
		"/retrieval/bpl/getMatchingPVs?limit=-1&pv=" + url.QueryEscape("*QF1*"):             asJSON(with("QF1")),
		"/retrieval/bpl/getMatchingPVs?pv=NOSUCH*":                                          "[]\n",
		"/retrieval/bpl/searchForPVsRegex?regex=" + url.QueryEscape(".*C07.*"):              lines(with("C07")),
		"/retrieval/bpl/searchForPVsRegex?regex=NOSUCH":                                     "",
		"/mgmt/bpl/getAllExpandedPVNames":                                                   asJSON(names),
		"/api/v1/names?limit=3&after=" + url.QueryEscape("SR-C39:PS:QF5999:Current-I"):      "",
		"/api/v1/names?limit=3&ignoreCase=true&pv=" + url.QueryEscape("*:qf23?:*"):          "",
		"/archive-access/api/1.0/archive/1/channels-by-pattern/" + url.PathEscape("sr*"):    "",
		"/archive-access/api/1.0/archive/1/channels-by-regexp/" + url.PathEscape("SR-C0.*"): "",
		"/prometheus/api/v1/label/__name__/values?limit=4000":                               "",
		"/prometheus/api/v1/series?match[]=" + url.QueryEscape(`{__name__=~".*QF12.*"}`):    "",
		"/mgmt/bpl/getPVStatus?pv=" + url.QueryEscape("SR-C07*"):                            "",
		"/api/v1/names?near=" + url.QueryEscape("SR-C07:PS:QF47:Curr-I"):                    "",
	} {
		var bodies []string
		for _, h := range handlers {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			if w.Code != http.StatusOK {
				t.Fatalf("%s answers %d: %.200s", path, w.Code, w.Body)
			}
			bodies = append(bodies, w.Body.String())
		}
		if bodies[0] != bodies[1] {
			t.Errorf("%s answers %.300q with an index, and %.300q without one", path, bodies[1], bodies[0])
		}
		if want != "" && bodies[1] != want {
			t.Errorf("%s answers %.300q, want %.300q", path, bodies[1], want)
		}
	}
}
