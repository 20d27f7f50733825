// Command openapi writes the description of /api/v1 for programs:
//
//	engine/serve/native ── table of calls ──▶ docs/reference/openapi.json
package main

import (
	"log"
	"os"

	"varve.dev/varve/engine/serve/native"
)

func main() {
	if err := os.WriteFile("docs/reference/openapi.json", native.Document(), 0o644); err != nil {
		log.Fatal(err)
	}
}
