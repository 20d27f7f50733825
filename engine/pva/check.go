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
		if s.state != slotOpen || !c.checks.IsDue(s.check, s.ch, s.seen, since) {
			return false
		}
		c.start(s, id)
		s.check, s.asked, s.renewed = client.CheckAsked, c.checks.Second(now), true
		return true
	}, func(id uint32, at time.Time) bool {
		s := c.at(id)
		if s == nil || s.ch == nil || s.asked != c.checks.Second(at) || !s.renewed && (!s.fresh || s.check != client.CheckAsked) {
			return false
		}
		c.lose(id, errUnanswered, slotClearing)
		return true
	})
}

// Poll starts the monitor of a channel again at once. It implements the method of client.Channel with this name.
func (c *circuit) Poll(ch *client.Channel) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	s := c.at(ch.Slot)
	if c.over || s == nil || s.ch != ch || s.state != slotOpen || s.check == client.CheckAsked || s.renewed || !c.checks.MayPoll(now) {
		return false
	}
	c.start(s, ch.Slot)
	s.check, s.asked, s.renewed = client.CheckAsked, c.checks.Second(now), true
	c.checks.Polled(ch.Slot, now)
	return true
}

// handleChecked handles the first update after a monitor was started again to check it. c.sample
// has the current value. The new monitor has already begun, so the next update shows that it is alive.
func (c *circuit) handleChecked(s *slot) {
	if c.checks.Answered(&s.check, s.ch, s.seen, &c.sample) {
		s.check = client.CheckRevived
	}
}
