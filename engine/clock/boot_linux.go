package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// SinceBoot returns the time since the machine booted. It includes the time in which the machine
// was suspended, which Go's monotonic clock leaves out.
func SinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(started) // a kernel before 2.6.39
	}
	return time.Duration(t.Nano())
}

var started = time.Now()
