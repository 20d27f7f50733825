package ca

import (
	"varve.dev/varve/engine/ca/proto"
)

// maxFrames limits the total size of the frames of a session in bytes. It is enough for 1.6
// million subscriptions to values of type double.
const maxFrames = 64 << 20

// These are the classes of events that a client can request (DBE_ in caeventmask.h).
const (
	maskValue    = 1
	maskLog      = 2
	maskAlarm    = 4
	maskProperty = 8
)

// subscribe handles EVENT_ADD. It sends the last update at once as the first event.
func (c *session) subscribe(h *proto.Header, payload []byte) {
	ch, t := c.channels[h.P1], proto.DBR(h.Type)
	if status, text := c.check(ch, t, h.Count); status != proto.StatusNormal {
		c.refuse(h, status, text)
		return
	}
	mask, err := proto.ParseEventMask(payload)
	if err != nil || mask&(maskValue|maskLog|maskAlarm|maskProperty) == 0 {
		c.refuse(h, proto.StatusBadMask, "the mask requests no events")
		return
	}
	if _, used := c.places[h.P2]; used {
		c.refuse(h, proto.StatusBadMonitorID, "the subscription ID is already in use")
		return
	}
	s := subscription{
		id: h.P2, typ: t, elements: int32(c.elements(ch, h.Count)), pv: ch.pv,
		fast: fastest(ch.pv, t), alarm: mask&maskAlarm != 0,
	}
	if c.memory+s.size() > maxFrames {
		c.refuse(h, proto.StatusAllocMem, "too many subscriptions")
		return
	}
	c.begin(s, h.P1, mask&(maskValue|maskLog) == 0)
	ch.subs = append(ch.subs, h.P2)
}

// begin adds a subscription to its group, and the first event of the subscription to the
// answer.
func (c *session) begin(s subscription, sid uint32, alarms bool) {
	c.Busy()
	c.Subscribed(1)
	p := place{sid: sid, slice: int32(c.server.Circuits.Schedule.Slice(s.pv)), alarms: alarms}
	g := c.group(p)
	if 2*g.dead > len(g.subs) { // turns compact groups too, but there may be no turn between two requests
		g.compact(c.moved)
	}
	p.pos = int32(len(g.subs))
	tick, at := c.Latest(s.pv)
	c.buf = append(c.buf, g.add(s, &c.enc, tick, at)...)
	c.places[s.id] = p
	c.memory += s.size()
	c.Sent(1)
}

// cancel handles EVENT_CANCEL.
func (c *session) cancel(h *proto.Header) {
	p, ok := c.places[h.P2]
	if !ok || p.sid != h.P1 {
		c.refuse(h, proto.StatusBadMonitorID, "no such subscription")
		return
	}
	c.end(h.P2)
	c.channels[p.sid].drop(h.P2)
	// As in EPICS base, the answer repeats the parameters of the request.
	c.buf = proto.AppendHeader(c.buf, proto.Header{
		Command: proto.CmdEventAdd, Type: h.Type, Count: h.Count, P1: h.P1, P2: h.P2,
	})
}

// end ends a subscription. Its frame stays until the group is compacted.
func (c *session) end(id uint32) {
	p := c.places[id]
	g := c.group(p)
	s := &g.subs[p.pos]
	s.dead = true
	g.dead++
	c.memory -= s.size()
	delete(c.places, id)
	c.Subscribed(-1)
}

func (c *session) group(p place) *group {
	s := &c.slices[p.slice]
	if p.alarms {
		return &s.alarms
	}
	return &s.every
}
