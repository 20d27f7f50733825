package ca

import "time"

// activeSpan is the time before a stall in which a channel must have had an update, so that
// the client reports the stall to it.
const activeSpan = 10 * time.Second

// findSuspects sets c.suspects to the slots that had an update after a time, or in the
// activeSpan before it. It includes the slots that have had no update yet, because the server
// sends the first one at once.
func (c *circuit) findSuspects(at time.Time) {
	from := c.checks.Second(at.Add(-activeSpan))
	c.suspects = c.suspects[:0]
	for i := range c.slots {
		if s := &c.slots[i]; s.state == slotOpen && (s.seen == 0 || s.seen >= from) {
			c.suspects = append(c.suspects, uint32(i))
		}
	}
}

// reportStall notifies the sinks of c.suspects that updates between two times may be missing.
func (c *circuit) reportStall(from, to time.Time) {
	if len(c.suspects) == 0 {
		return
	}
	c.client.metrics.stalls.Inc()
	c.client.config.Log.Info("circuit stalled",
		"server", c.Server, "seconds", to.Sub(from).Seconds(), "channels", len(c.suspects))
	for _, id := range c.suspects {
		if s := c.at(id); s != nil && s.state == slotOpen {
			s.sink.Suspect(from, to)
		}
	}
}

// reportLoss reports the updates that are lost when the circuit ends in a stall or in an
// incomplete frame.
func (c *circuit) reportLoss(now time.Time) {
	switch since := c.partial.Since(); {
	case c.stalls.overdue(now):
		c.reportStallSince(c.stalls.last, now)
	case !since.IsZero():
		c.reportStallSince(since, now)
	}
}

// reportStallSince reports a stall to the channels that may have missed updates since it began.
func (c *circuit) reportStallSince(from, to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.findSuspects(from)
	c.reportStall(from, to)
}
