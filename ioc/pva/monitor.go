package pva

import "varve.dev/varve/engine/pva/proto"

// monitor handles MONITOR.
func (c *session) monitor(r *proto.Reader) {
	q := proto.ParseRequest(r)
	if q.Sub&proto.SubInit != 0 {
		if op := c.begin(proto.CmdMonitor, q, r); op != nil {
			c.Subscribed(1)
		}
		return
	}
	var acknowledged uint32
	if q.Sub&proto.SubPipeline != 0 {
		acknowledged = r.Uint32()
	}
	op := c.ops[q.IOID]
	if r.Err() != nil || op == nil || op.command != proto.CmdMonitor {
		return // the operation may have ended already
	}
	if acknowledged > 0 {
		c.acknowledge(op, acknowledged)
	}
	switch q.Sub &^ proto.SubPipeline & proto.SubStart {
	case proto.SubStart:
		c.start(q.IOID, op)
	case proto.SubStop:
		c.stop(op)
	}
	if q.Sub&proto.SubDestroy != 0 {
		c.end(q.IOID)
	}
}

// start starts the updates of a MONITOR. It sends the last update at once, with all fields.
func (c *session) start(ioid uint32, op *operation) {
	if op.started {
		return
	}
	c.Busy()
	op.started, op.place.slice = true, quietSlice
	if !op.shape.quiet {
		op.place.slice = int32(c.server.circuits.Schedule.Slice(op.pv))
	}
	g := c.group(op.place)
	if 2*g.dead > len(g.subs) { // turns compact groups too, but there may be no turn between two requests
		c.compact(g)
	}
	op.place.pos = int32(len(g.subs))
	s := subscription{shape: op.shape, pv: op.pv, ioid: ioid, window: unlimited, state: unbegun | owed}
	if op.pipeline {
		s.window = op.window
	}
	g.subs = append(g.subs, s)
	if s.shape.steady {
		g.steady++
	}
	if s.window == 0 {
		c.shut++
		return
	}
	c.pay(&g.subs[op.place.pos])
}

// stop stops the updates of a MONITOR if they were started. The subscription stays in its
// group until the group is compacted.
func (c *session) stop(op *operation) {
	if !op.started {
		return
	}
	g := c.group(op.place)
	s := &g.subs[op.place.pos]
	if s.window == 0 {
		c.shut--
	}
	op.started, op.window = false, s.window
	s.state |= dead
	g.dead++
	if s.shape.steady {
		g.steady--
	}
}

// acknowledge allows n more updates. If an update is owed, it sends that update at once.
func (c *session) acknowledge(op *operation, n uint32) {
	if !op.pipeline {
		return
	}
	if !op.started {
		op.window = more(op.window, n)
		return
	}
	s := &c.group(op.place).subs[op.place.pos]
	if s.window == 0 {
		c.shut--
	}
	if s.window = more(s.window, n); s.state&owed != 0 {
		c.pay(s)
	}
}

// more returns window enlarged by n. The result is always less than unlimited.
func more(window, n uint32) uint32 { return uint32(min(uint64(window)+uint64(n), unlimited-1)) }
