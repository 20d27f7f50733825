package ca

import (
	"errors"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/client"
)

// errUnanswered is the cause for which a channel is lost if its server does not answer a read.
var errUnanswered = errors.New("the server did not answer a read of the value")

// checkQuiet checks some of the channels without updates: it reads their values.
func (c *circuit) checkQuiet(now time.Time) {
	if !c.mu.TryLock() { // messages arrive: the next tick checks
		return
	}
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.checks.Tick(len(c.slots), now, func(id uint32, since time.Time) bool {
		s := &c.slots[id]
		if s.state != slotOpen || !c.checks.IsDue(s.check, s.ch, s.seen, since) {
			return false
		}
		s.check, s.asked = client.CheckAsked, c.checks.Second(now)
		c.Send(func(dst []byte) []byte { return proto.AppendReadNotify(dst, s.event, c.requestCount(s), s.sid, id) })
		return true
	}, func(id uint32, at time.Time) bool {
		s := c.at(id)
		if s == nil || s.state != slotOpen || s.check != client.CheckAsked || s.asked != c.checks.Second(at) {
			return false
		}
		c.lose(id, errUnanswered, slotClearing)
		return true
	})
}

// Poll reads the value of a channel at once. It implements the method of client.Channel with this name.
func (c *circuit) Poll(ch *client.Channel) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	s := c.at(ch.Slot)
	if c.over || s == nil || s.ch != ch || s.state != slotOpen || s.check == client.CheckAsked || !c.checks.MayPoll(now) {
		return false
	}
	s.check, s.asked = client.CheckAsked, c.checks.Second(now)
	c.checks.Polled(ch.Slot, now)
	c.Send(func(dst []byte) []byte {
		return proto.AppendReadNotify(dst, s.event, c.requestCount(s), s.sid, ch.Slot)
	})
	return true
}

// handleChecked handles the answer to the read of a check. If the subscription may be dead, the client
// subscribes again.
func (c *circuit) handleChecked(s *slot, h *proto.Header, payload []byte) {
	var err error
	c.scratch, err = proto.DecodeTime(&c.sample, s.event, h.Count, s.array, payload, c.scratch)
	if err != nil || !proto.Status(h.P1).OK() {
		c.checks.Failed(&s.check)
		return
	}
	if s.text {
		c.sample.Bytes = proto.Text(c.sample.Bytes)
	}
	if !c.checks.Answered(&s.check, s.ch, s.seen, &c.sample) {
		return
	}
	c.Send(func(dst []byte) []byte {
		dst = proto.AppendEventCancel(dst, s.event, c.requestCount(s), s.sid, h.P2)
		return proto.AppendEventAdd(dst, s.event, c.requestCount(s), s.sid, h.P2, uint16(s.ch.Options.Events))
	})
}
