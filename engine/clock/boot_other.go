//go:build !linux

package clock

import "time"

// SinceBoot returns the time since the process started. Whether it includes the time in which the
// machine was suspended depends on the system.
func SinceBoot() time.Duration { return time.Since(started) }

var started = time.Now()
