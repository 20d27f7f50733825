package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/change"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// getChanges requests changes and decodes the answer.
func getChanges(t *testing.T, h *Handler, q string) (code int, out changesAnswer, text string) {
	t.Helper()
	w, mux := httptest.NewRecorder(), http.NewServeMux()
	h.Register(mux)
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/changes?"+q, nil))
	text = w.Body.String()
	if w.Code == http.StatusOK {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
	}
	return w.Code, out, text
}

func (a *archive) handler(now int64) *Handler {
	r := &query.Reader{Store: a.store, Shards: 1, Now: func() int64 { return now }}
	return New(r, nil, nil, func() time.Time { return time.Unix(0, now) }, slog.New(slog.DiscardHandler))
}

// TestChangesFindsWhatWasPlanted checks that almost all planted changes are among the first 30 of 1,000
// PVs, with the right reason.
func TestChangesFindsWhatWasPlanted(t *testing.T) { findPlanted(t, 1000) }

// TestLong_ChangesFindsWhatWasPlanted is the same with 10,000 PVs.
func TestLong_ChangesFindsWhatWasPlanted(t *testing.T) { findPlanted(t, 10_000) }

func findPlanted(t *testing.T, n int) {
	p := newPlanted(t, newArchive(t).store, n, false)
	h := p.handler(p.to)
	h.compareTime = 20 * time.Minute // the race detector and other tests take time
	code, out, text := getChanges(t, h, fmt.Sprintf("from=%s&to=%s&limit=30", clock(p.from), clock(p.to)))
	if code != http.StatusOK || out.PVs != n || out.Compared != n {
		t.Fatalf("%d PVs yield %d: %d of %d are compared: %.300s", n, code, out.Compared, out.PVs, text)
	}
	found, reasons := 0, 0
	for i, c := range out.Changes {
		var k int
		if _, err := fmt.Sscanf(c.PV, "PLANT:%d", &k); err != nil {
			var b int
			_, _ = fmt.Sscanf(c.PV, "BACK:%d", &b)
			t.Logf("%2d %.2f %s (%s): %s", i+1, c.Score, c.PV, backgroundOf(b).name, c.Reasons[0].Kind)
			continue
		}
		found++
		if c.Reasons[0].Kind == planted[k].want {
			reasons++
		}
		t.Logf("%2d %.2f %s: %s", i+1, c.Score, planted[k].name, c.Reasons[0].Kind)
	}
	t.Logf("%d of %d planted changes are among the first 30, %d with the expected reason, in %.2f s", found, len(planted), reasons, out.Seconds)
	if found < 18 || reasons < 18 {
		t.Errorf("%d of %d planted changes are among the first 30, %d with the expected reason; want at least 18", found, len(planted), reasons)
	}
}

// statuses are captured PVs.
type statuses []capture.Status

func (l statuses) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		for _, s := range l {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// steps stores a sample per minute of the windows around the window of an hour that begins at at.
func (a *archive) steps(of func(minute int) float64) {
	var pairs []float64
	for m := -60 * (change.History + 1); m < 60; m++ {
		if v := of(m); v > -1e9 {
			pairs = append(pairs, float64(m)*60, v)
		}
	}
	a.put(pairs...)
}

const oneHour = "from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z"

// TestChangesSaysWhyDataIsMissing checks that a gap is a reason of its own, with its cause, and that
// the rate counts only the time in which updates could arrive.
func TestChangesSaysWhyDataIsMissing(t *testing.T) {
	a := newArchive(t)
	a.steps(func(m int) float64 {
		if m >= 30 {
			return -1e9
		}
		return float64(m % 2)
	})
	for _, m := range []sample.Mark{
		{Time: at - 8*3600e9, Kind: sample.Connected, Text: "ioc"}, {Time: at + 30*60e9, Kind: sample.Disconnected, Text: "ioc: reset"},
	} {
		if err := a.store.PutMarks(t.Context(), store.PVMark{PV: "X", Writer: store.WriterID{1}, Mark: m}); err != nil {
			t.Fatal(err)
		}
	}
	_, out, text := getChanges(t, a.handler(at+7200e9), oneHour)
	if len(out.Changes) != 1 || len(out.Changes[0].Reasons) == 0 {
		t.Fatalf("the answer is %s", text)
	}
	r := out.Changes[0].Reasons[0]
	if r.Kind != change.Gap || r.Before != 0 || r.After != 0.5 || r.Text != "disconnected" {
		t.Errorf("the first reason is %+v", r)
	}
	for _, r := range out.Changes[0].Reasons {
		if r.Kind == change.Rate {
			t.Errorf("the rate counts as changed: %+v", r)
		}
	}
}

// TestChangesOfAGroup checks that only the PVs of a group are compared.
func TestChangesOfAGroup(t *testing.T) {
	a := newArchive(t)
	a.steps(func(m int) float64 { return map[bool]float64{true: 5}[m >= 0] })
	h := a.handler(at + 7200e9)
	h.channels = statuses{{PV: "X", Group: "lab/x"}, {PV: "NEW", Group: "lab/y"}}
	if _, out, text := getChanges(t, h, "group=lab/x&"+oneHour); out.PVs != 1 || len(out.Changes) != 1 || out.Changes[0].Reasons[0].After != 5 {
		t.Errorf("the group of X yields %s", text)
	}
	if _, out, text := getChanges(t, h, "group=lab/y&"+oneHour); out.Compared != 1 || len(out.Changes) != 0 {
		t.Errorf("the other group yields %s", text)
	}
	if code, _, text := getChanges(t, h, "group=lab/z&"+oneHour); code != http.StatusBadRequest || !strings.Contains(text, "NAMESPACE/NAME") {
		t.Errorf("an unknown group yields %d %s", code, text)
	}
}

// TestChangesRefusesBadWindows checks errors that name the parameter, and the bound of requests.
func TestChangesRefusesBadWindows(t *testing.T) {
	a := newArchive(t)
	a.put(0, 1)
	h := a.handler(at + 7200e9)
	for q, want := range map[string]string{
		"from=2026-01-01T03:00:00Z&to=2026-01-01T04:00:00Z":   "a window ends now at the latest",
		"from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00.1Z": "parameter from",
		"from=1902-01-01T00:00:00Z&to=1903-01-01T00:00:00Z":   "windows before it would begin before",
		"pv=NO*&" + oneHour:           "no PV matches",
		"pv=X&group=lab/x&" + oneHour: "parameter group",
		"limit=0&" + oneHour:          "parameter limit",
		"points=7&" + oneHour:         "points",
	} {
		if code, _, text := getChanges(t, h, q); code != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s yields %d %s, want %s", q, code, text, want)
		}
	}
	h.comparing.Take("", maxComparisons)
	if code, _, text := getChanges(t, h, oneHour); code != http.StatusTooManyRequests {
		t.Errorf("a request beyond the bound yields %d %s", code, text)
	}
}

// BenchmarkChanges compares 10,000 PVs with samples and rollups of a minute.
func BenchmarkChanges(b *testing.B) {
	p := newPlanted(b, newArchive(b).store, 10_000, true)
	h := p.handler(p.to)
	q := &changesQuery{pattern: "*", from: p.from, to: p.to, limit: defaultChanges}
	for b.Loop() {
		pvs, err := h.compared(b.Context(), q)
		p.check(err)
		out, err := h.compare(b.Context(), q, pvs)
		p.check(err)
		if out.Compared != 10_000 {
			b.Fatalf("%d PVs are compared", out.Compared)
		}
	}
}
