package capture

import (
	"sync"
	"time"
)

// clocks calls functions at the multiples of periods. It owns a goroutine for each
// period.
type clocks struct {
	now     func() int64             // the engine's time in ns since 1970
	running map[time.Duration]func() // by period: stops the clock and waits for it
}

// every starts a clock for a period unless there is one. The clock calls f a delay after
// each multiple of the period since 1970, and passes that multiple in ns.
func (c *clocks) every(period, delay time.Duration, f func(end int64)) {
	if c.running[period] != nil {
		return
	}
	if c.running == nil {
		c.running = map[time.Duration]func(){}
	}
	next := func() (end int64, wait time.Duration) {
		now := c.now()
		end = slotEnd(now-int64(delay)+1, period)
		return end, time.Duration(end + int64(delay) - now)
	}
	end, wait := next()
	timer, stop := time.NewTimer(wait), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer timer.Stop()
		for {
			select {
			case <-stop:
				return
			case <-timer.C:
				f(end)
			}
			end, wait = next()
			timer.Reset(wait)
		}
	})
	c.running[period] = func() { close(stop); wg.Wait() }
}

// keep stops the clocks of all periods that are not wanted.
func (c *clocks) keep(wanted map[time.Duration]bool) {
	for p, stop := range c.running {
		if !wanted[p] {
			stop()
			delete(c.running, p)
		}
	}
}
