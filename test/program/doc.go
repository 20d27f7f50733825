// Package program runs the Varve binary in a separate process, as users do.
//
//	TestMain ─▶ Main ── go build ─▶ the binary
//	test ─▶ Launch ─▶ Process: its output, its end, signals
//	     └▶ Standalone ─▶ Archiver: Process + archive.Client ── HTTP ─▶ varve standalone
//
// If VARVE_BIN is set, tests run that binary instead of building one. It may be built with -race,
// for example.
package program
