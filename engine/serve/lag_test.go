package serve

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// lagging is a query.Recent of busy engines that have flushed the samples of some PVs only up to
// a time. It counts the reads of each PV.
type lagging struct {
	flushed map[string]int64
	mu      sync.Mutex
	reads   map[string]int
}

func (l *lagging) Recent(_ context.Context, q query.RecentRequest) query.Held {
	if q.From < query.Latest {
		l.mu.Lock()
		l.reads[q.PV]++
		l.mu.Unlock()
	}
	held := query.Held{Shards: []int{pvname.Shard(q.PV, 4)}}
	if until, lags := l.flushed[q.PV]; lags {
		held.Unanswered, held.Flushed = true, []query.Flushed{{Writer: store.WriterID{9}, Until: until}}
	} else {
		held.Covers = []store.WriterID{{9}}
	}
	return held
}

// newLaggingRig returns an archive of PVs that an engine captures. The engine has flushed the
// samples of some of them only up to a time.
func newLaggingRig(t *testing.T, flushed map[string]int64) (*rig, *lagging) {
	l := &lagging{flushed: flushed, reads: map[string]int{}}
	r := newRigWith(t, openStore(t), l)
	for shard := range 4 {
		r.check(r.store.PutClaim(t.Context(), store.Claim{Shard: shard, Writer: store.WriterID{9}, Epoch: 1, Saved: newYear}))
	}
	return r, l
}

const lagRange = "&from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z"

// TestAnswersSayUpToWhichTimeTheyAreComplete checks the header of every API, and the fields that
// each format can hold.
func TestAnswersSayUpToWhichTimeTheyAreComplete(t *testing.T) {
	const until = "2026-01-01T00:00:05.5Z"
	r, _ := newLaggingRig(t, map[string]int64{"SR:LAGS": newYear + 55*second/10})
	r.put("SR:LAGS", ramp(newYear, 6), 1)
	r.put("SR:WHOLE", ramp(newYear, 6), 1)
	for _, c := range []struct{ path, body string }{
		{"/api/v1/samples?pv=%", `"completeUntil":"` + until + `","runs":[`},
		{"/api/v1/samples?pv=%&points=3", `"completeUntil":"` + until + `","width":`},
		{"/retrieval/data/getData.json?pv=%", `{"meta":{"name":"SR:LAGS","completeUntil":"` + until + `"},`},
		{"/retrieval/data/getData.qw?pv=%", `"completeUntil":"` + until + `"`},
		{"/retrieval/data/getData.raw?pv=%", "completeUntil\x12\x16" + until},
		{"/retrieval/data/getData.json?pv=mean_2(%)", `"completeUntil":"` + until + `"`},
		{"/retrieval/data/getData.csv?pv=%", ""},
		{"/retrieval/data/getData.csv?pv=ncount(%)", ""},
		{"/retrieval/data/getData.txt?pv=%", ""},
	} {
		res, body, err := r.do(http.MethodGet, strings.ReplaceAll(c.path, "%", "SR:LAGS")+lagRange, "")
		r.check(err)
		if got := res.Header.Get("Varve-Complete-Until"); res.StatusCode != 200 || got != until || !strings.Contains(body, c.body) {
			t.Errorf("GET %s returns %d, complete until %q:\n%s", c.path, res.StatusCode, got, body)
		}
		res, body, err = r.do(http.MethodGet, strings.ReplaceAll(c.path, "%", "SR:WHOLE")+lagRange, "")
		r.check(err)
		if got := res.Header.Get("Varve-Complete-Until"); got != "" || strings.Contains(body, "completeUntil") {
			t.Errorf("the answer to %s is complete, but says that it is complete until %s:\n%s", c.path, got, body)
		}
		res, _, err = r.do(http.MethodGet, strings.ReplaceAll(c.path, "%", "SR:LAGS")+"&from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:05Z", "")
		r.check(err)
		if got := res.Header.Get("Varve-Complete-Until"); got != "" {
			t.Errorf("the answer to %s ends before the lag, but says that it is complete until %s", c.path, got)
		}
		if got := res.Header.Get("Access-Control-Expose-Headers"); got != "Varve-Complete-Until, Varve-Lost-Samples" {
			t.Errorf("web pages may read the headers %q", got)
		}
	}
}

// TestALagAfterTheFirstByteIsATrailer checks an answer of several PVs. If the lag of a PV becomes
// known after the first byte, the client gets the earliest time in a trailer.
func TestALagAfterTheFirstByteIsATrailer(t *testing.T) {
	r, _ := newLaggingRig(t, map[string]int64{"B": newYear + 7*second, "C": newYear + 3*second, "D": newYear + 5*second})
	for _, pv := range []string{"A", "B", "C", "D"} {
		r.put(pv, ramp(newYear, 3000), 1) // more than a piece of the answer
	}
	for _, compression := range []string{"gzip", "identity"} {
		res, _, err := r.do(http.MethodGet, "/retrieval/data/getData.json?pv=A&pv=B&pv=C&pv=D"+lagRange, "", "Accept-Encoding", compression)
		r.check(err)
		if header, trailer := res.Header.Get("Varve-Complete-Until"), res.Trailer.Get("Varve-Complete-Until"); header != "" || trailer != "2026-01-01T00:00:03Z" {
			t.Errorf("with %s, the header is %q and the trailer %q", compression, header, trailer)
		}
	}
}

// firstWrite calls f before the first byte of an answer.
type firstWrite struct {
	*httptest.ResponseRecorder
	f func()
}

func (w *firstWrite) Write(p []byte) (int, error) {
	if w.f != nil {
		w.f()
		w.f = nil
	}
	return w.ResponseRecorder.Write(p)
}

// TestPVsAreOpenedOneAfterTheOther checks that a request for many PVs holds the unsealed samples of
// one PV at a time, and that it is refused before the first byte if one of the PVs is unknown.
func TestPVsAreOpenedOneAfterTheOther(t *testing.T) {
	r, l := newLaggingRig(t, nil)
	for _, pv := range []string{"A", "B", "C"} {
		r.put(pv, ramp(newYear, 3000), 1) // more than a piece of the answer
	}
	r.addChannel("TEXT", sample.String, newYear)
	opened := -1
	w := &firstWrite{httptest.NewRecorder(), func() { opened = len(l.reads) }}
	r.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/retrieval/data/getData.json?pv=A&pv=B&pv=C"+lagRange, http.NoBody))
	if opened != 1 || len(l.reads) != 3 {
		t.Errorf("%d PVs were open before the first byte, and %d at the end", opened, len(l.reads))
	}
	for path, want := range map[string]int{
		"pv=A&pv=B&pv=NONE": http.StatusNotFound, "pv=A&pv=B&pv=nothing_2(A)": http.StatusBadRequest,
		"pv=A&pv=B&pv=mean_1(TEXT)": http.StatusBadRequest, "pv=A&pv=B&pv=mean_1(C)": http.StatusOK,
	} {
		clear(l.reads)
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/retrieval/data/getData.json?"+path+lagRange, http.NoBody))
		if w.Code != want || want != http.StatusOK && len(l.reads) > 0 {
			t.Errorf("GET %s returns %d after reads of %v: %s", path, w.Code, l.reads, w.Body)
		}
	}
}

// TestTooManyReadsAreRefused checks that a read which gets no place is refused, with the time after
// which the client may repeat it.
func TestTooManyReadsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(blocking)
		reg := prometheus.NewRegistry()
		h, err := New(&Config{
			Reader: &query.Reader{Shards: 4, Recent: release}, Channels: &channels{}, Reads: 1, Registerer: reg,
			Gatherer: reg, Metrics: NewMetrics(reg), Ready: func() error { return nil }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		get := func(path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
			return w
		}
		go get("/api/v1/samples?pv=A")
		synctest.Wait()
		for _, path := range []string{"/api/v1/samples?pv=A", "/retrieval/data/getData.json?pv=A"} {
			w := get(path)
			if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "5" || !strings.Contains(w.Body.String(), "as many reads") {
				t.Errorf("GET %s returns %d, Retry-After %q: %s", path, w.Code, w.Header().Get("Retry-After"), w.Body)
			}
		}
		close(release)
	})
}

// blocking is a query.Recent whose engines fail to answer once it is closed.
type blocking chan struct{}

func (b blocking) Recent(context.Context, query.RecentRequest) query.Held {
	<-b
	return query.Held{Missing: query.ErrNoAnswer, MissingFrom: query.Earliest}
}

// TestJSONAccessSaysUpToWhichTimeItIsComplete checks the header of an answer of samples and of bins.
func TestJSONAccessSaysUpToWhichTimeItIsComplete(t *testing.T) {
	const until = "2026-01-01T00:00:05.5Z"
	r, _ := newLaggingRig(t, map[string]int64{"SR:LAGS": newYear + 55*second/10})
	r.put("SR:LAGS", ramp(newYear, 6), 1)
	for _, count := range []string{"", "&count=3"} {
		path := fmt.Sprintf("/archive-access/api/1.0/archive/1/samples/SR:LAGS?start=%d&end=%d%s", newYear, newYear+3600*second, count)
		res, body, err := r.do(http.MethodGet, path, "")
		r.check(err)
		if got := res.Header.Get("Varve-Complete-Until"); res.StatusCode != 200 || got != until {
			t.Errorf("GET %s returns %d, complete until %q:\n%s", path, res.StatusCode, got, body)
		}
	}
}

// unclaimed is a query.Recent of an engine that does not answer, and has not claimed its shard yet.
type unclaimed struct{}

func (unclaimed) Recent(context.Context, query.RecentRequest) query.Held {
	return query.Held{Known: true, Shards: []int{pvname.Shard("SR:LAGS", 4)}, Unanswered: true}
}

// TestAnswersSayThatNoTimeIsKnown checks that no API names the earliest time of a read, the year 1900, if nothing says
// up to which time the samples are complete.
func TestAnswersSayThatNoTimeIsKnown(t *testing.T) {
	const api = "/archive-access/api/1.0/archive/1/samples/SR:LAGS"
	r := newRigWith(t, openStore(t), unclaimed{})
	r.put("SR:LAGS", ramp(newYear, 6), 1)
	span := fmt.Sprintf("?start=%d&end=%d", newYear, newYear+3600*second)
	for path, inBody := range map[string]bool{
		"/api/v1/samples?pv=SR:LAGS" + lagRange:                                                true,
		"/api/v1/samples?pv=SR:LAGS&points=3" + lagRange:                                       true,
		"/api/v1/samples?pv=SR:LAGS&where=SR:LAGS>2" + lagRange:                                true,
		"/api/v1/samples?pv=SR:LAGS&format=csv" + lagRange:                                     false,
		"/api/v1/samples?pv=SR:LAGS&format=arrow" + lagRange:                                   true,
		"/api/v1/intervals?where=SR:LAGS>2" + lagRange:                                         true,
		"/api/v1/snapshot?pv=SR:LAGS&at=2026-01-01T01:00:00Z":                                  false,
		"/api/v1/snapshot?pv=SR:LAGS&at=2026-01-01T01:00:00Z&format=arrow":                     true,
		"/api/v1/statistics?pv=SR:LAGS" + lagRange:                                             true,
		"/api/v1/bins?pv=SR:LAGS" + lagRange:                                                   true,
		"/api/v1/files/SR:LAGS/2026-01-01.parquet":                                             true,
		"/api/v1/files?pv=SR:LAGS":                                                             true,
		"/retrieval/data/getData.json?pv=SR:LAGS" + lagRange:                                   true,
		"/retrieval/data/getData.raw?pv=SR:LAGS" + lagRange:                                    true,
		"/retrieval/data/getData.csv?pv=SR:LAGS" + lagRange:                                    false,
		"/retrieval/data/getDataAtTime?pv=SR:LAGS&at=2026-01-01T01:00:00Z":                     false,
		"/prometheus/api/v1/query_range?query=SR:LAGS&start=1767225600&end=1767229200&step=60": true,
		api + span: false,
	} {
		res, body, err := r.do(http.MethodGet, path, "")
		r.check(err)
		until := cmp.Or(res.Header.Get("Varve-Complete-Until"), res.Trailer.Get("Varve-Complete-Until"))
		if strings.HasPrefix(path, "/api/v1/statistics") { // has no samples, and no header
			until = cmp.Or(until, "unknown")
		}
		if res.StatusCode != 200 || until != "unknown" {
			t.Errorf("GET %s returns %d, complete until %q:\n%s", path, res.StatusCode, until, body)
		}
		if strings.Contains(body, "1900-01-01") || inBody && !strings.Contains(body, "unknown") && !strings.Contains(body, "not known until when") {
			t.Errorf("GET %s returns:\n%s", path, body)
		}
	}
}
