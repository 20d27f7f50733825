// Package program runs Varve as users do: the binary, in a process of its own.
//
//	TestMain ─▶ Main ── go build ─▶ the binary
//	test ─▶ Launch ─▶ Process: its output, its end, signals
//	     └▶ Standalone ─▶ Archiver: Process + archive.Client ── HTTP ─▶ varve standalone
//
// VARVE_BIN names a binary to test instead of building one, such as one built with
// -race.
package program
