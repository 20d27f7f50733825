package cql

import (
	"sync/atomic"
	"time"
)

// Clock returns timestamps for writes.
type Clock struct {
	Now  func() time.Time
	last atomic.Int64
}

// Next returns the time in µs since 1970, or the last timestamp plus 1 if that is later.
func (c *Clock) Next() int64 {
	for {
		last := c.last.Load()
		if t := max(c.Now().UnixMicro(), last+1); c.last.CompareAndSwap(last, t) {
			return t
		}
	}
}

// NotBefore makes all later timestamps greater than t. It must not run at the same
// time as Next.
func (c *Clock) NotBefore(t int64) { c.last.Store(max(c.last.Load(), t)) }
