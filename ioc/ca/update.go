package ca

import (
	"varve.dev/varve/ioc/circuit"
)

// Ready implements circuit.Speaker.
func (c *session) Ready() bool { return !c.paused }

// Pass implements circuit.Speaker.
func (c *session) Pass(turn int64) (lost int) {
	every := &c.slices[turn%int64(len(c.slices))].every
	return len(every.subs) - every.dead
}

// Send implements circuit.Speaker.
func (c *session) Send(turn, t int64) (sent int, err error) {
	slices := int64(len(c.slices))
	tick, at := turn/slices, makeStamp(c.server.Circuits.Schedule.Unix(t))
	s := &c.slices[turn%slices]
	s.every.compact(c.moved)
	s.alarms.compact(c.moved)
	if err := c.sendEvery(&s.every, tick, at); err != nil {
		return 0, err
	}
	changed, err := c.sendAlarms(&s.alarms, tick, at)
	return len(s.every.subs) + changed, err
}

// moved records the new position of a subscription in its group.
func (c *session) moved(id uint32, pos int) {
	p := c.places[id]
	p.pos = int32(pos)
	c.places[id] = p
}

// sendEvery patches the frames of a group and writes them. It does this piece by piece, while
// the frames are in the CPU cache.
func (c *session) sendEvery(g *group, tick int64, at stamp) error {
	from := 0
	for i := range g.subs {
		s := &g.subs[i]
		c.enc.patch(g.frames[s.at:], s, tick, at)
		if piece := g.frames[from:s.at]; len(piece) >= circuit.WriteSize {
			if err := c.Write(piece); err != nil {
				return err
			}
			from = int(s.at)
		}
	}
	return c.Write(g.frames[from:])
}

// sendAlarms writes the frames of all subscriptions in a group whose alarm has changed since
// it was last sent.
func (c *session) sendAlarms(g *group, tick int64, at stamp) (sent int, err error) {
	for i := range g.subs {
		s := &g.subs[i]
		tag := s.pv.AlarmAt(tick)
		if !s.alarm || tag.SameAlarm(s.tag) {
			continue
		}
		frame := g.frames[s.at:][:s.size()]
		c.enc.patch(frame, s, tick, at)
		s.tag = tag
		if err := c.Write(frame); err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}
