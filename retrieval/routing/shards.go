package routing

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"varve.dev/varve/cluster/moves"
	"varve.dev/varve/groups/compile"
)

// Register adds /api/v1/shards to a mux: who captures, and which shards move.
func (o *Owners) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/shards", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		state, known := o.Moves()
		if !known {
			w.WriteHeader(http.StatusServiceUnavailable)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": "it is not known yet who captures what"})
			return
		}
		_ = json.NewEncoder(w).Encode(state) // a client that is gone needs no answer
	})
}

// Moves returns who captures, and which shards move, as the API server told last.
// False: it told nothing yet.
func (o *Owners) Moves() (moves.State, bool) {
	shards, known := o.shards.All()
	if !known {
		return moves.State{}, false
	}
	for name, s := range shards {
		if s.Spec.ArchiverRef.Name != o.cfg.Archiver {
			delete(shards, name)
		}
	}
	return moves.Of(slices.Collect(maps.Values(shards)), compile.Archive{Shards: o.cfg.Shards}.Replicas), true
}
