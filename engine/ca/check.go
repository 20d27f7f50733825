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
		s.check = client.CheckAsked
		c.Send(func(dst []byte) []byte { return proto.AppendReadNotify(dst, s.event, c.requestCount(s), s.sid, id) })
		return true
	}, func(id uint32) {
		if s := c.at(id); s != nil && s.state == slotOpen && s.check == client.CheckAsked {
			c.client.kernel.CountCheck(client.CheckUnanswered)
			c.lose(id, errUnanswered, slotClearing)
		}
	})
}

// handleChecked handles the answer to the read of a check. If the value differs from the channel's
// last sample although no update has arrived, the subscription may be dead, and the client
// subscribes again.
func (c *circuit) handleChecked(s *slot, h *proto.Header, payload []byte) {
	s.check = client.CheckNone
	var err error
	c.scratch, err = proto.DecodeTime(&c.sample, s.event, h.Count, s.array, payload, c.scratch)
	if err != nil || !proto.Status(h.P1).OK() {
		c.client.kernel.CountCheck(client.CheckFailed)
		return
	}
	if s.text {
		c.sample.Bytes = proto.Text(c.sample.Bytes)
	}
	last := s.ch.Since
	if s.seen > 0 {
		last = c.began.Add(time.Duration(s.seen-1) * time.Second)
	}
	if !s.sink.Checked(&c.sample, last.UnixNano()) {
		c.client.kernel.CountCheck(client.CheckSame)
		return
	}
	c.client.kernel.CountCheck(client.CheckChanged)
	c.client.kernel.Warnings().Warn("a value has changed without an update; subscribing again", "pv", s.ch.Name(), "server", c.Server, "last_update", last)
	s.check = client.CheckRenewed
	c.Send(func(dst []byte) []byte {
		dst = proto.AppendEventCancel(dst, s.event, c.requestCount(s), s.sid, h.P2)
		return proto.AppendEventAdd(dst, s.event, c.requestCount(s), s.sid, h.P2, uint16(s.ch.Options.Events))
	})
}

// noteUpdate records that an update arrived while a check was under way.
func (c *circuit) noteUpdate(s *slot) {
	switch s.check {
	case client.CheckRenewed:
		s.check = client.CheckRevived
		return
	case client.CheckRevived:
		c.client.kernel.CountCheck(client.CheckHealed)
	}
	s.check = client.CheckNone
}
