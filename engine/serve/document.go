package serve

import (
	"net/http"

	"varve.dev/varve/engine/serve/explore"
	"varve.dev/varve/engine/serve/files"
	"varve.dev/varve/engine/serve/native"
	"varve.dev/varve/engine/serve/openapi"
	"varve.dev/varve/engine/serve/overview"
)

// info introduces the OpenAPI document.
var info = openapi.Info{
	Title: "Varve", Version: "v1",
	Description: "Reads an archive of EPICS process variables (PVs). " +
		"A request with an unknown parameter, or with a value outside of its limits, gets 400. A call that reads many samples streams its answer, " +
		"and aborts the connection if it cannot complete the answer. The header Varve-Complete-Until says until when an answer is complete, " +
		"if the newest samples are missing; Varve-Lost-Samples says how many samples are missing because their blocks are damaged. " +
		"Both may be trailers.",
}

var documentCall = openapi.Call{
	Path: "/api/v1/openapi.json", ID: "openapi", Summary: "This document",
	Answers: openapi.Answers(openapi.Schema{"type": "object"}, nil),
}

// Sections describes the calls of /api/v1 that each server has.
func Sections() []openapi.Section {
	return []openapi.Section{
		openapi.Common(), native.Section(), files.Section(), explore.Section(), overview.Section(), {Calls: []openapi.Call{documentCall, loginCall}},
	}
}

// Document returns the OpenAPI document of /api/v1. extra describes calls that only some servers have.
func Document(extra ...openapi.Section) []byte {
	return openapi.Document(info, append(Sections(), extra...)...)
}

// registerDocument adds the document of all calls of this server.
func (c *Config) registerDocument(mux *http.ServeMux) {
	document := Document(c.Calls)
	documentCall.Register(mux, c.Now, func(w http.ResponseWriter, _ *http.Request, _ *openapi.Query) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document) // an error means that the client has disconnected
	})
}
