package routing

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"varve.dev/varve/cluster/moves"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/groups/compile"
)

// Section describes the call of /api/v1 that the routing answers.
func Section() openapi.Section {
	count, text := openapi.Whole(""), openapi.String("")
	return openapi.Section{Calls: []openapi.Call{shardsCall}, Schemas: map[string]openapi.Schema{
		"Shards": openapi.Object(map[string]openapi.Schema{
			"shards":  count,
			"engines": openapi.List(openapi.Object(map[string]openapi.Schema{"engine": text, "joining": count, "capturing": count, "draining": count})),
			"moves": openapi.List(openapi.Object(map[string]openapi.Schema{
				"shard": count, "from?": text, "to?": text, "phase": text, "since?": openapi.Timestamp(""), "message?": text,
			})),
		}),
	}}
}

var shardsCall = openapi.Call{
	Path: "/api/v1/shards", ID: "shards", Summary: "Engines, and moves of shards under way", Description: "Only a cluster serves this call.",
	Answers: openapi.Answers(openapi.Ref("Shards"), nil, http.StatusServiceUnavailable),
}

// Register adds /api/v1/shards to a mux. It serves the engines that capture, and the shard moves under way.
func (r *Router) Register(mux *http.ServeMux) { registerShards(mux, r.Moves) }

func registerShards(mux *http.ServeMux, state func() (moves.State, bool)) {
	shardsCall.Register(mux, time.Now, func(w http.ResponseWriter, _ *http.Request, _ *openapi.Query) {
		w.Header().Set("Content-Type", "application/json")
		state, known := state()
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
