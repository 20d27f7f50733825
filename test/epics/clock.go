package epics

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FakeTime returns the path of libfaketime, with which an IOC can have a clock of its own. It
// returns "" if the library is not installed. In Debian, it is the package libfaketime.
func FakeTime() string {
	found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1") // the pattern is valid
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// StartIOCWithClock starts an IOC like StartIOCOn. SetClock changes its clock. It needs
// libfaketime.
func StartIOCWithClock(tb testing.TB, host, database string) *IOC {
	tb.Helper()
	library := FakeTime()
	if library == "" {
		tb.Fatal("an IOC with a clock of its own needs libfaketime: apt-get install libfaketime")
	}
	ioc := newIOC(tb, host, FreePort(tb, host), database)
	ioc.clock = filepath.Join(tb.TempDir(), "clock")
	ioc.env = []string{
		"LD_PRELOAD=" + library, "FAKETIME_TIMESTAMP_FILE=" + ioc.clock, "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", // the IOC scans as before
	}
	ioc.SetClock(0)
	ioc.launch()
	return ioc
}

// SetClock sets how far the IOC's clock is ahead of this machine's clock.
func (ioc *IOC) SetClock(ahead time.Duration) {
	ioc.tb.Helper()
	next := ioc.clock + ".next"
	err := os.WriteFile(next, fmt.Appendf(nil, "%+.3f", ahead.Seconds()), 0o600)
	if err == nil {
		err = os.Rename(next, ioc.clock) // the IOC reads the file at any time
	}
	if err != nil {
		ioc.tb.Fatalf("setting the clock of an IOC: %v", err)
	}
}
