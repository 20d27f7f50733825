package epics

import (
	"testing"

	"varve.dev/varve/test/freeport"
)

// FreePort returns a port of host on which neither TCP nor UDP is in use now.
func FreePort(tb testing.TB, host string) int {
	tb.Helper()
	port, err := freeport.Find(host)
	if err != nil {
		tb.Fatal(err)
	}
	return port
}
