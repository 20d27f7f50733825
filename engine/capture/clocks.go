package capture

import (
	"sync"
	"time"
)

// clocks calls functions at the multiples of periods, each in a goroutine that
// belongs to the clocks.
type clocks struct {
	running map[time.Duration]func() // stops a clock, and waits for it
}

// every calls f, unless the period has a clock already, a delay after each
// multiple of the period since 1970, with that multiple in ns.
func (c *clocks) every(period, delay time.Duration, f func(end int64)) {
	if c.running[period] != nil {
		return
	}
	if c.running == nil {
		c.running = map[time.Duration]func(){}
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			end := slotEnd(time.Now().Add(-delay).UnixNano()+1, period)
			timer := time.NewTimer(time.Until(time.Unix(0, end).Add(delay)))
			select {
			case <-stop:
				timer.Stop()
				return
			case <-timer.C:
				f(end)
			}
		}
	})
	c.running[period] = func() { close(stop); wg.Wait() }
}

// keep stops the clocks whose periods are not wanted.
func (c *clocks) keep(wanted map[time.Duration]bool) {
	for p, stop := range c.running {
		if !wanted[p] {
			stop()
			delete(c.running, p)
		}
	}
}
