// Package standalone tests the main job of Varve end to end and from outside. It runs the
// program as users do, with real IOCs and a real Cassandra.
//
//	EPICS IOC ── Channel Access ──▶ varve standalone ──▶ Pebble or Cassandra
//	    └── Channel Access ──▶ an independent client          │
//	                                  └──── compared ◀── HTTP ┘
//
// The scenarios take a minute and a half. With VARVE_LONG=1 they run at full length.
package standalone

import (
	"os"
	"testing"

	"varve.dev/varve/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// long reports whether scenarios run at full length.
func long() bool { return os.Getenv("VARVE_LONG") != "" }

// either returns full if scenarios run at full length, and short otherwise.
func either[T any](short, full T) T {
	if long() {
		return full
	}
	return short
}
