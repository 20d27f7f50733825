package routing

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"varve.dev/varve/cluster/moves"
	"varve.dev/varve/groups/compile"
)

// Register adds /api/v1/shards to a mux. It serves the engines that capture, and the shard moves under way.
func (r *Router) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/shards", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		state, known := r.Moves()
		if !known {
			w.WriteHeader(http.StatusServiceUnavailable)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": "the engines of the archive are not known yet"})
			return
		}
		_ = json.NewEncoder(w).Encode(state) // fails only if the client is gone
	})
}

// Moves returns the engines that capture, and the shard moves under way, according to the
// last update of the API server. It returns false before the first update.
func (r *Router) Moves() (moves.State, bool) {
	shards, known := r.shards.All()
	if !known {
		return moves.State{}, false
	}
	for name, s := range shards {
		if s.Spec.ArchiverRef.Name != r.cfg.Archiver {
			delete(shards, name)
		}
	}
	return moves.StateOf(slices.Collect(maps.Values(shards)), compile.Archive{Shards: r.cfg.Shards}.Replicas), true
}
