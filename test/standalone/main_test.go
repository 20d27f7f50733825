// Package standalone tests the main job of Varve end to end, on real parts and
// from outside: the program as users run it, real IOCs, a real Cassandra.
//
//	EPICS IOC ── Channel Access ──▶ varve standalone ──▶ Pebble or Cassandra
//	    └── Channel Access ──▶ an independent client          │
//	                                  └──── compared ◀── HTTP ┘
//
// The scenarios take a minute and a half; with VARVE_LONG=1 they run for as long
// as it takes to believe them. VARVE_BIN names a program to test instead of
// building one, such as one built with -race.
package standalone

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// varve is the path of the program.
var varve string

func TestMain(m *testing.M) { os.Exit(build(m)) }

// build builds the program, runs the tests and returns the exit code.
func build(m *testing.M) int {
	if varve = os.Getenv("VARVE_BIN"); varve != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "varve-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // a scenario is run by another user
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	varve = filepath.Join(dir, "varve")
	if out, err := exec.Command("go", "build", "-o", varve, "../../cmd/varve").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building varve: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// long reports whether scenarios run at full length.
func long() bool { return os.Getenv("VARVE_LONG") != "" }

// either returns the second value if scenarios run at full length.
func either[T any](short, full T) T {
	if long() {
		return full
	}
	return short
}
