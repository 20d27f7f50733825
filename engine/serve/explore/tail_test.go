package explore

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/admission"
	"varve.dev/varve/engine/serve/stream"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// at is a time in 2026, in ns since 1970.
const at = int64(1767225600e9)

// archive is an archive with the PV X.
type archive struct {
	t      testing.TB
	store  store.Store
	blocks uint32
}

func newArchive(t testing.TB) *archive {
	t.Helper()
	st, err := pebble.Open(t.TempDir(), pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &archive{t: t, store: st}
}

// put stores samples: pairs of a time in s and a value.
func (a *archive) put(pairs ...float64) {
	a.t.Helper()
	r := &sample.Run{Type: sample.Float64}
	for i := 0; i < len(pairs); i += 2 {
		r.Append(&sample.Sample{Time: at + int64(pairs[i]*1e9), Word: math.Float64bits(pairs[i+1])})
	}
	a.add(r)
}

// add stores samples.
func (a *archive) add(r *sample.Run) {
	a.t.Helper()
	year := store.Year.Of(at)
	err := a.store.AddChannel(context.Background(), store.Channel{PV: "X", Shards: []int{0}, Types: []sample.Type{r.Type}, Starts: []store.Bucket{year}})
	if err != nil {
		a.t.Fatal(err)
	}
	a.blocks++
	err = a.store.PutBlocks(context.Background(), store.Block{
		BlockKey: store.BlockKey{PV: "X", Bucket: year, Start: r.Times[0], Writer: store.WriterID{1}, N: a.blocks},
		End:      r.Times[r.Len()-1], Count: r.Len(), Type: r.Type, Blob: block.Append(nil, r),
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

// TestTailYieldsEachSampleOnce checks late samples, and several samples at one time.
func TestTailYieldsEachSampleOnce(t *testing.T) {
	a := newArchive(t)
	reader := &query.Reader{Store: a.store, Shards: 1}
	a.put(0, 1, 1, 2, 2, 3)
	tail := newTail("X", cursor{at + 1e9, 1})
	read := func(want ...float64) {
		t.Helper()
		got, err := tail.read(t.Context(), reader)
		if err != nil || !slices.Equal(got.value, want) {
			t.Fatalf("the tail yields %v, want %v: %v", got.value, want, err)
		}
	}
	read(3)
	read()
	a.put(2.5, 4, 3, 5)
	read(4, 5)
	a.put(1.5, 6) // late
	read(6)
	read()
	if want := (cursor{at + 3e9, 1}); tail.cursor != want {
		t.Errorf("the cursor is %v, want %v", tail.cursor, want)
	}
	a.put(100, 7)
	read(7)
	a.put(20, 8) // later than the stream finds
	read()
	resumed := newTail("X", tail.cursor)
	a.put(101, 9)
	if got, err := resumed.read(t.Context(), reader); err != nil || !slices.Equal(got.value, []float64{9}) {
		t.Errorf("after a new connection, the tail yields %v: %v", got.value, err)
	}
}

// TestStreamsAreBounded checks that a stream ends with its request, after its lifetime, or when the
// server stops, and that only so many PVs are followed at a time.
func TestStreamsAreBounded(t *testing.T) {
	a := newArchive(t)
	a.put(0, 1)
	synctest.Test(t, func(t *testing.T) {
		h := New(&query.Reader{Store: a.store, Shards: 1}, nil, nil, time.Now, slog.New(slog.DiscardHandler))
		mux := http.NewServeMux()
		h.Register(mux)
		request := func(ctx context.Context) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/live?pv=X", nil).WithContext(ctx))
			return w
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		for _, client := range []string{"a", "b"} {
			ctx := admission.WithClient(ctx, client)
			for range liveShare {
				go func() {
					request(ctx)
					ended <- struct{}{}
				}()
			}
			synctest.Wait()
			if w := request(ctx); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
				t.Errorf("a request beyond the share of %s returns %d", client, w.Code)
			}
		}
		if h.live.Take("c", 1) {
			t.Error("all streams have more than the bound")
		}
		cancel()
		for range maxLive {
			<-ended
		}
		begun := time.Now()
		if w := request(t.Context()); w.Code != http.StatusOK || time.Since(begun) != lifetime {
			t.Errorf("a stream returns %d after %v", w.Code, time.Since(begun))
		}
		stopping, begun := make(chan struct{}), time.Now()
		time.AfterFunc(3*interval/2, func() { close(stopping) })
		if w := request(stream.WithStopping(t.Context(), stopping)); w.Code != http.StatusOK || time.Since(begun) != 3*interval/2 {
			t.Errorf("a stream of a server that stops after %v returns %d after %v", 3*interval/2, w.Code, time.Since(begun))
		}
	})
}

func TestGridWidth(t *testing.T) {
	for _, c := range []struct {
		span time.Duration
		n    int
		want time.Duration
	}{
		{time.Hour, 1000, 5 * time.Second}, {time.Hour, 3600, time.Second}, {time.Minute, 1000, 100 * time.Millisecond},
		{10 * time.Microsecond, 1000, 10 * time.Nanosecond}, {0, 10, 1}, {24 * time.Hour, 1000, 2 * time.Minute},
		{365 * 24 * time.Hour, 1000, 12 * time.Hour}, {100 * 365 * 24 * time.Hour, 1, 0},
	} {
		got := time.Duration(gridWidth(at, at+int64(c.span), c.n))
		if c.n == 1 {
			if got%(30*24*time.Hour) != 0 || got < c.span {
				t.Errorf("%v in one bin has the width %v", c.span, got)
			}
		} else if got != c.want {
			t.Errorf("%v in %d bins has the width %v, want %v", c.span, c.n, got, c.want)
		}
	}
}
