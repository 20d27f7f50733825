// Package standalone tests the main job of Varve end to end, on real parts and
// from outside: the program as users run it, real IOCs, a real Cassandra.
//
//	EPICS IOC ── Channel Access ──▶ varve standalone ──▶ Pebble or Cassandra
//	    └── Channel Access ──▶ an independent client          │
//	                                  └──── compared ◀── HTTP ┘
//
// The scenarios take a minute and a half; with VARVE_LONG=1 they run for as long
// as it takes to believe them.
package standalone

import (
	"os"
	"testing"

	"varve.dev/varve/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// long reports whether scenarios run at full length.
func long() bool { return os.Getenv("VARVE_LONG") != "" }

// either returns the second value if scenarios run at full length.
func either[T any](short, full T) T {
	if long() {
		return full
	}
	return short
}
