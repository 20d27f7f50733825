package pva

import "varve.dev/varve/ioc/circuit"

// pay appends the owed update to the answer. It is the PV's last update.
func (c *session) pay(s *subscription) {
	tick, at := c.Latest(s.pv)
	before := len(c.buf)
	if c.buf = c.appendUpdate(c.buf, s, tick, at); len(c.buf) > before {
		c.Sent(1)
	}
	s.state &^= owed | unbegun
}

// appendUpdate appends an update of a subscription whose window is open. It appends nothing if
// no requested field has changed.
func (c *session) appendUpdate(dst []byte, s *subscription, tick, unixNanos int64) []byte {
	word, tag := sampleOf(s.pv, tick)
	f := plain
	switch {
	case s.state&unbegun != 0:
		f, s.tick = whole, tick
	case tag != s.tag:
		f = alarmed
	}
	overrun := tick > s.tick+1
	s.tick, s.tag = tick, tag
	t := s.shape.template(f, tag, unixNanos)
	if t.empty {
		return dst
	}
	start := len(dst)
	dst = t.append(dst, s.ioid, c.server.set, s.pv, tick, word)
	if overrun {
		dst = t.overrun(dst, start)
	}
	if s.window != unlimited {
		if s.window--; s.window == 0 {
			c.shut++
		}
	}
	return dst
}

// Ready implements circuit.Speaker. Without a clock, turns wait for acknowledgements.
func (c *session) Ready() bool { return c.shut == 0 || !c.server.circuits.Schedule.Flat() }

// Pass implements circuit.Speaker.
func (c *session) Pass(turn int64) (lost int) {
	g := &c.slices[turn%int64(len(c.slices))]
	return g.steady
}

// Send implements circuit.Speaker.
func (c *session) Send(turn, t int64) (sent int, err error) {
	slices := int64(len(c.slices))
	tick, at := turn/slices, c.server.circuits.Schedule.Unix(t)
	g := &c.slices[turn%slices]
	c.compact(g)
	c.buf = c.buf[:0]
	squashed := 0
	for i := range g.subs {
		s := &g.subs[i]
		if s.window == 0 {
			if s.state&(owed|unbegun) == owed && s.shape.steady {
				squashed++ // the previous owed update
			}
			s.state |= owed
			continue
		}
		before := len(c.buf)
		if c.buf = c.appendUpdate(c.buf, s, tick, at); len(c.buf) > before {
			sent++
		}
		if len(c.buf) >= circuit.WriteSize {
			if err := c.Write(c.buf); err != nil {
				return sent, err
			}
			c.buf = c.buf[:0]
		}
	}
	c.Dropped(squashed)
	return sent, c.Write(c.buf)
}
