package peer

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/request"
)

// Paths of a Handler.
const (
	RecentPath   = "/internal/recent"
	ChannelsPath = "/internal/channels"
)

// Engine provides the answers of a Handler.
type Engine interface {
	query.Recent
	// Flushed answers a request for recent samples without samples: it says how far the engine
	// has flushed them. It takes hardly any memory or time.
	Flushed(q query.RecentRequest) query.Held
	Statuses(ctx context.Context) iter.Seq2[capture.Status, error]
	Status(ctx context.Context, pv string) (capture.Status, bool, error)
}

const (
	// atOnce is the number of requests answered at a time.
	atOnce = 32
	// turnTimeout is how long other requests wait for their turn. Readers wait only a
	// little longer for an answer.
	turnTimeout = 200 * time.Millisecond
)

// Handler answers the requests of readers for an engine.
type Handler struct {
	engine  Engine
	busy    func() bool
	slots   chan struct{} // its capacity is atOnce
	refused prometheus.Counter
}

// NewHandler returns a Handler. While the engine is busy, the handler answers requests for recent
// samples without samples, because capturing has priority over reading. The answer says how far
// the samples are flushed, so that readers know what their results lack.
func NewHandler(e Engine, busy func() bool, reg prometheus.Registerer) *Handler {
	return &Handler{engine: e, busy: busy, slots: make(chan struct{}, atOnce), refused: promauto.With(reg).NewCounter(prometheus.CounterOpts{
		Namespace: "varve", Subsystem: "engine", Name: "reads_refused_total",
		Help: "Requests of readers that the engine answered without samples because it was short of memory or had too many requests; the readers read the journal instead.",
	})}
}

// Register adds the paths to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET "+RecentPath, h.recent)
	mux.HandleFunc("GET "+ChannelsPath, h.channels)
}

func (h *Handler) takeTurn(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	select {
	case h.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// recent answers the samples of a PV that the engine holds in memory, preceded by their
// length. If samples are missing that are not in the journal, it answers an error.
func (h *Handler) recent(w http.ResponseWriter, r *http.Request) {
	q, err := requestOf(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	held := h.held(r.Context(), q)
	if held.Missing != nil {
		http.Error(w, held.Missing.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", ContentType)
	w.Header().Set(gzhttp.HeaderNoCompression, "1") // blocks are compressed already
	buf := AppendHeld(nil, &held)
	if _, err := w.Write(binary.AppendUvarint(nil, uint64(len(buf)))); err == nil {
		_, _ = w.Write(buf) // an error means that the client is gone
	}
}

// held returns what the engine holds of a PV, or, if it is busy or has too many requests, how far
// it has flushed its samples.
func (h *Handler) held(ctx context.Context, q query.RecentRequest) query.Held {
	if h.busy() || !h.takeTurn(ctx) {
		h.refused.Inc()
		return h.engine.Flushed(q)
	}
	defer func() { <-h.slots }()
	return h.engine.Recent(ctx, q)
}

// channels answers the states of at most limit channels that pass the filters pv (a glob),
// state and group, sorted by name, from the first name after the parameter after on. With
// the parameter name it answers one channel. The last line of the answer marks its end.
func (h *Handler) channels(w http.ResponseWriter, r *http.Request) {
	if !h.takeTurn(r.Context()) {
		h.refused.Inc()
		http.Error(w, "the engine has too many requests", http.StatusServiceUnavailable)
		return
	}
	defer func() { <-h.slots }()
	q := r.URL.Query()
	limit, err := request.Limit(q, -1)
	match := request.Matcher(request.All)
	if pv := q.Get("pv"); err == nil && pv != "" {
		match, err = request.Globs(pv)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc := json.NewEncoder(w)
	n := 0
	for s, err := range h.filtered(r.Context(), q, match) {
		if err != nil {
			panic(http.ErrAbortHandler) // the client must not take the answer for complete
		}
		if n == limit {
			break
		}
		if enc.Encode(newLine(&s)) != nil {
			return // the client is gone
		}
		n++
	}
	_ = enc.Encode(line{End: true}) // an error means that the client is gone
}

// filtered yields the channels that pass the filters. match is the filter pv.
func (h *Handler) filtered(ctx context.Context, q url.Values, match request.Matcher) iter.Seq2[capture.Status, error] {
	if q.Has("name") {
		return func(yield func(capture.Status, error) bool) {
			s, captured, err := h.engine.Status(ctx, q.Get("name"))
			if captured || err != nil {
				yield(s, err)
			}
		}
	}
	return func(yield func(capture.Status, error) bool) {
		for s, err := range h.engine.Statuses(ctx) {
			passes := err != nil || s.PV > q.Get("after") && match(s.PV) &&
				cmp.Or(q.Get("state"), s.State.String()) == s.State.String() && cmp.Or(q.Get("group"), s.Group) == s.Group
			if passes && !yield(s, err) {
				return
			}
		}
	}
}
