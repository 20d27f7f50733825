package ca

import "time"

// activeSpan is how long before a stall a channel must have had an update to be
// told of it.
const activeSpan = 10 * time.Second

// secondOf returns the number of a time in seconds of the circuit, which slots
// note; it is never 0.
func (c *circuit) secondOf(t time.Time) uint32 {
	return uint32(max(t.Sub(c.began), 0)/time.Second) + 1
}

// actives sets c.suspects to the slots with updates in the activeSpan before a
// time, or later.
func (c *circuit) actives(at time.Time) {
	from := c.secondOf(at.Add(-activeSpan))
	c.suspects = c.suspects[:0]
	for i := range c.slots {
		if s := &c.slots[i]; s.state == slotOpen && s.seen >= from {
			c.suspects = append(c.suspects, uint32(i))
		}
	}
}

// stalled tells the sinks of c.suspects that updates between two times may be missing.
func (c *circuit) stalled(from, to time.Time) {
	if len(c.suspects) == 0 {
		return
	}
	c.client.metrics.stalls.Inc()
	c.client.config.Log.Info("circuit stalled",
		"server", c.server, "seconds", to.Sub(from).Seconds(), "channels", len(c.suspects))
	for _, id := range c.suspects {
		if s := c.at(id); s != nil && s.state == slotOpen {
			s.sink.Suspect(from.UnixNano(), to.UnixNano())
		}
	}
}

// cutOff tells what is lost as the circuit ends: in a stall, or behind a frame that
// came in part.
func (c *circuit) cutOff(now time.Time) {
	switch since := c.partial.Since(); {
	case c.pulse.overdue(now):
		c.stalledSince(c.pulse.last, now)
	case !since.IsZero():
		c.stalledSince(since, now)
	}
}

// stalledSince is stalled for the channels that were active at the begin of a time.
func (c *circuit) stalledSince(from, to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.actives(from)
	c.stalled(from, to)
}
