//go:build soak

package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// clockStepFile holds the number of seconds by which the process's wall clock is ahead. The soak
// test writes it.
const clockStepFile = "/run/varve/clock-step"

// init prepares the test build, which hack/soak/build.sh builds. Engines seal every minute, and the
// wall clock follows clockStepFile.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		os.Args = append(os.Args, "--checkpoint=1m")
	}
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			text, err := os.ReadFile(clockStepFile)
			if err != nil {
				continue // there is no file before the first step
			}
			if ahead, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
				time.WallClockStep.Store(ahead)
			}
		}
	}()
}
