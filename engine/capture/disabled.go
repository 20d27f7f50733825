package capture

import (
	"bytes"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
)

// enabling is the state of the condition on another PV that enables a channel. The channel's lock guards it. While the
// channel is disabled, it stays subscribed, and remembers the latest value:
//
//	samples ─▶ latest value ── the next one replaces it ─▶ dropped as ConditionUnmet
//	                │ enabled
//	                ▼
//	             filters, as for the first value after connecting
//
// So the archive has the value that the PV had when the capture continued, with its own time. While the
// channel is disabled, it writes no marks about its connection.
type enabling struct {
	gate  *gate
	off   bool
	since clock.Instant // of off
	held  sample.Sample // the latest value since the channel was disabled
	has   bool          // held is set
	at    clock.Instant // the arrival of held
}

// disabledLocked reports whether a condition disables the channel.
func (c *channel) disabledLocked() bool { return c.enabling != nil && c.enabling.off }

// shownStateLocked returns the state that users see.
func (c *channel) shownStateLocked() State {
	if c.disabledLocked() {
		return Disabled
	}
	return c.state
}

// holdLocked takes a sample that arrives while the channel is disabled.
func (c *channel) holdLocked(s *sample.Sample, arrival clock.Instant) {
	e := c.enabling
	c.update.drop(sample.ConditionUnmet)
	if len(s.Bytes) > MaxValueBytes {
		c.ledger.drop(sample.ConditionUnmet, 1, arrival)
		return
	}
	if e.has {
		c.ledger.drop(sample.ConditionUnmet, 1, arrival)
	}
	buf := append(e.held.Bytes[:0], s.Bytes...)
	e.held, e.has, e.at = *s, true, arrival
	e.held.Bytes = buf
	c.filter.fresh = false
}

// forgetHeldLocked drops the held value, because it is no longer the channel's value.
func (c *channel) forgetHeldLocked() {
	if e := c.enabling; e != nil && e.has {
		e.has = false
		c.ledger.drop(sample.ConditionUnmet, 1, c.m.instant())
	}
}

// heldDiffersLocked reports whether a value that was read differs from the held one. The time does not count.
func (c *channel) heldDiffersLocked(s *sample.Sample) bool {
	h := &c.enabling.held
	return c.enabling.has && (!h.Tag.SameAlarm(s.Tag) || h.Word != s.Word || !bytes.Equal(h.Bytes, s.Bytes))
}

// applyGate disables the channel if its gate is closed, and enables it otherwise.
func (c *channel) applyGate(g *gate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	closed, text := c.m.conditions.look(g)
	if e := c.enabling; e == nil || e.gate != g || e.off == closed {
		return
	}
	if closed {
		c.disableLocked(text)
	} else {
		c.enableLocked()
	}
}

// disableLocked ends the capture until the condition is met. A sample that waits for its scan time is kept.
func (c *channel) disableLocked(text string) {
	if c.scan.holding && c.head != nil {
		c.scan.give(c.filter.set.Period, c.appendSample)
	}
	at := c.m.instant()
	c.addStateLocked(at, sample.Mark{Kind: sample.Disabled, Text: text})
	c.enabling.off, c.enabling.since = true, at
}

// enableLocked continues the capture. A mark says whether updates arrive.
func (c *channel) enableLocked() {
	e := c.enabling
	e.off = false
	at := c.m.instant()
	switch {
	case c.state == Connected:
		c.addStateLocked(at, sample.Mark{Kind: sample.Connected, Text: c.info.Host})
	case c.state == Unsupported:
		c.addStateLocked(at, sample.Mark{Kind: sample.Disconnected, Text: c.absence.cause})
	case c.absence.kind != 0:
		c.absence.marked = c.absence.kind
		c.addStateLocked(at, sample.Mark{Kind: c.absence.kind, Text: c.causeLocked()})
	}
	if !e.has {
		return
	}
	if c.head == nil || c.state != Connected {
		c.forgetHeldLocked()
		return
	}
	e.has, c.filter.fresh = false, true
	c.takeLocked(&e.held, e.at)
	e.held = sample.Sample{} // it may be large
}

// joinGate makes the condition of the settings enable the channel. The caller holds Manager.apply.
func (c *channel) joinGate(set *Settings) {
	if set.EnabledBy == "" || set.Paused || c.enabling != nil {
		return
	}
	g := c.m.conditions.join(c, set)
	if g == nil {
		return
	}
	c.mu.Lock()
	c.enabling = &enabling{gate: g}
	c.mu.Unlock()
	c.applyGate(g)
}

// leaveGate ends the condition of the channel, unless the settings have the same one. resume means that the
// capture continues. The caller holds Manager.apply.
func (c *channel) leaveGate(set *Settings, resume bool) {
	c.mu.Lock()
	e := c.enabling
	c.mu.Unlock()
	if e == nil || set != nil && !set.Paused && set.EnabledBy == c.filter.set.EnabledBy {
		return
	}
	c.m.conditions.leave(c, e.gate)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.off && resume {
		c.enableLocked()
	}
	c.forgetHeldLocked()
	c.enabling = nil
}

// explainEnablingLocked completes a status of a channel that a condition enables.
func (c *channel) explainEnablingLocked(st *Status) {
	e := c.enabling
	if e == nil {
		return
	}
	st.EnabledBy = c.m.conditions.explain(e.gate)
	if !e.off {
		return
	}
	cause := "enabledBy: " + st.EnabledBy
	if st.Cause != "" {
		cause += "; besides, the channel is not connected: " + st.Cause
	}
	st.State, st.Since, st.Cause = Disabled, e.since.Now, cause
	st.Absent, st.AbsentSince = sample.Disabled, e.since.Now
}
