package pva

import (
	"errors"
	"time"

	"varve.dev/varve/engine/client"
)

// errUnanswered is the cause for which a channel is lost if its server does not start a monitor
// again.
var errUnanswered = errors.New("the server did not answer a request for the value")

// checkQuiet checks some of the channels without updates: it starts their monitors again. The
// first update of a monitor is the current value. Until then, updates of the old monitor count.
func (c *circuit) checkQuiet(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.checks.Tick(len(c.slots), now, func(id uint32, since time.Time) bool {
		s := &c.slots[id]
		if s.state != slotOpen || s.check == client.CheckAsked || s.seen >= c.secondOf(since) || s.ch.Since.After(since) {
			return false
		}
		c.start(s, id)
		s.check, s.renewed = client.CheckAsked, true
		return true
	}, func(id uint32) {
		if s := c.at(id); s != nil && s.ch != nil && (s.renewed || s.fresh && s.check == client.CheckAsked) {
			c.client.kernel.CountCheck(client.CheckUnanswered)
			c.lose(id, errUnanswered, slotClearing)
		}
	})
}

// secondOf converts a time to the form of slot.seen, in seconds since the start of the circuit. It
// never returns 0.
func (c *circuit) secondOf(t time.Time) uint32 {
	return uint32(max(t.Sub(c.began), 0)/time.Second) + 1
}

// handleChecked handles the first update after a monitor was started again to check it. c.sample
// has the current value. If it differs from the channel's last sample although no update has
// arrived, the old monitor may have been dead.
func (c *circuit) handleChecked(s *slot) {
	s.check = client.CheckNone
	last := s.ch.Since
	if s.seen > 0 {
		last = c.began.Add(time.Duration(s.seen-1) * time.Second)
	}
	if !s.sink.Checked(&c.sample, last.UnixNano()) {
		c.client.kernel.CountCheck(client.CheckSame)
		return
	}
	c.client.kernel.CountCheck(client.CheckChanged)
	c.client.kernel.Warnings().Warn("a value has changed without an update; subscribed again", "pv", s.ch.Name(), "server", c.Server, "last_update", last)
	s.check = client.CheckRevived
}

// noteUpdate records that an update arrived while a check was under way.
func (c *circuit) noteUpdate(s *slot) {
	if s.check == client.CheckRevived {
		c.client.kernel.CountCheck(client.CheckHealed)
	}
	s.check = client.CheckNone
}
