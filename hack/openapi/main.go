// Command openapi writes the description of /api/v1 for programs:
//
//	engine/serve, retrieval/routing ── descriptions of calls ──▶ docs/reference/openapi.json
package main

import (
	"log"
	"os"

	"varve.dev/varve/engine/serve"
	"varve.dev/varve/retrieval/routing"
)

func main() {
	if err := os.WriteFile("docs/reference/openapi.json", serve.Document(routing.Section()), 0o644); err != nil {
		log.Fatal(err)
	}
}
