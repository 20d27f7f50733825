package routing

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"varve.dev/varve/cluster/moves"
	"varve.dev/varve/engine/serve"
	"varve.dev/varve/engine/serve/openapi/openapitest"
)

// document is the OpenAPI document of a retrieval pod.
func document() string { return string(serve.Document(Section())) }

// TestShardsAreAsDescribed checks /api/v1/shards against the OpenAPI document, before and after the
// shards are known.
func TestShardsAreAsDescribed(t *testing.T) {
	var state moves.State
	known := false
	mux := http.NewServeMux()
	registerShards(mux, func() (moves.State, bool) { return state, known })
	c := &openapitest.Contract{T: t, Get: func(path string) (int, string, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Header().Get("Content-Type"), w.Body.String()
	}}
	c.Load(document())
	calls := Section().Calls
	c.Effects(calls, nil)
	c.Refusals(calls, "pv", "limit")
	known, state = true, moves.State{Shards: 1, Engines: []moves.Engine{}, Moves: []moves.Move{}}
	c.Effects(calls, nil)
	since := time.Unix(1767225600, 0)
	state.Engines = append(state.Engines, moves.Engine{Engine: "e1", Capturing: 1})
	state.Moves = append(state.Moves, moves.Move{Shard: 1, From: "e1", To: "e2", Phase: "Joining", Since: &since, Message: "waiting"})
	c.Effects(calls, nil)
}

// TestDocumentIsUpToDate checks the copy of the document in docs, which has the calls of all servers.
func TestDocumentIsUpToDate(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/openapi.json")
	if err != nil || string(text) != document() {
		t.Errorf("docs/reference/openapi.json differs from the document; run make generate: %v", err)
	}
}
