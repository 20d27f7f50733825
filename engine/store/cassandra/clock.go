package cassandra

import (
	"sync/atomic"
	"time"
)

// clock gives out timestamps of writes.
type clock struct {
	now  func() time.Time
	last atomic.Int64
}

// next returns the time in µs since 1970, or 1 more than it returned before if
// that is later.
func (c *clock) next() int64 {
	for {
		last := c.last.Load()
		if t := max(c.now().UnixMicro(), last+1); c.last.CompareAndSwap(last, t) {
			return t
		}
	}
}
