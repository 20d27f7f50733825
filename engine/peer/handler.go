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

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/serve/request"
)

// Paths that a Handler serves.
const (
	RecentPath   = "/internal/recent"
	ChannelsPath = "/internal/channels"
)

// Engine is what is asked.
type Engine interface {
	query.Recent
	Statuses(ctx context.Context) iter.Seq2[capture.Status, error]
	Status(ctx context.Context, pv string) (capture.Status, bool, error)
}

const (
	// atOnce is how many requests are answered at a time.
	atOnce = 32
	// waitFor is how long others wait for their turn: readers wait little longer for an
	// answer.
	waitFor = 200 * time.Millisecond
)

// Handler answers for an engine.
type Handler struct {
	engine  Engine
	busy    func() bool
	slots   chan struct{} // its capacity is atOnce
	refused prometheus.Counter
}

// NewHandler returns a Handler. While the engine is busy it does not tell what that holds:
// of all that an engine does, reading comes last.
func NewHandler(e Engine, busy func() bool, reg prometheus.Registerer) *Handler {
	return &Handler{engine: e, busy: busy, slots: make(chan struct{}, atOnce), refused: promauto.With(reg).NewCounter(prometheus.CounterOpts{
		Namespace: "varve", Subsystem: "engine", Name: "reads_refused_total",
		Help: "Questions of readers that were not answered, as memory was short or too many came at once: they read the journal instead.",
	})}
}

// Register adds the paths to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET "+RecentPath, h.limited(h.recent, h.busy))
	mux.HandleFunc("GET "+ChannelsPath, h.limited(h.channels, func() bool { return false }))
}

// limited refuses what is too much.
func (h *Handler) limited(f http.HandlerFunc, busy func() bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if busy() || !h.takeTurn(r.Context()) {
			h.refused.Inc()
			http.Error(w, "the engine is busy capturing", http.StatusServiceUnavailable)
			return
		}
		defer func() { <-h.slots }()
		f(w, r)
	}
}

func (h *Handler) takeTurn(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	select {
	case h.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// recent answers what the engine holds of a PV, with its length before it. What it can
// not tell whole it does not tell.
func (h *Handler) recent(w http.ResponseWriter, r *http.Request) {
	q, err := questionOf(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	held := h.engine.Recent(r.Context(), q)
	if held.Missing != nil {
		http.Error(w, held.Missing.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", ContentType)
	buf := AppendHeld(nil, &held)
	if _, err := w.Write(binary.AppendUvarint(nil, uint64(len(buf)))); err == nil {
		_, _ = w.Write(buf) // or the client is gone
	}
}

// channels answers the states of the channels that pass the filters pv (a glob),
// state and group, sorted by name and after the name after, up to limit; or of
// the one that name has. Its last line says that it is whole.
func (h *Handler) channels(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := request.Limit(q, -1)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc := json.NewEncoder(w)
	n := 0
	for s, err := range h.wanted(r.Context(), q) {
		if err != nil {
			panic(http.ErrAbortHandler) // so that the client does not take it for whole
		}
		if n == limit {
			break
		}
		if enc.Encode(newLine(&s)) != nil {
			return // the client is gone
		}
		n++
	}
	_ = enc.Encode(line{End: true}) // as above
}

// wanted yields the channels that pass the filters.
func (h *Handler) wanted(ctx context.Context, q url.Values) iter.Seq2[capture.Status, error] {
	if q.Has("name") {
		return func(yield func(capture.Status, error) bool) {
			s, captured, err := h.engine.Status(ctx, pvname.Canonical(q.Get("name")))
			if captured || err != nil {
				yield(s, err)
			}
		}
	}
	match := request.Matcher(request.All)
	if q.Get("pv") != "" {
		match = request.Glob(q.Get("pv"))
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
