package pva

import (
	"math"

	"varve.dev/varve/engine/ioc/circuit"
	"varve.dev/varve/engine/ioc/sim"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
)

// subscription is a MONITOR that is started.
type subscription struct {
	shape  *shape
	pv     sim.PV
	tick   int64      // of the last update sent
	tag    sample.Tag // the last alarm sent
	ioid   uint32     // the client's id
	window uint32     // how many updates may be sent; unlimited if it is no pipeline
	state  state
}

// state is what is special about a subscription, in bits.
type state uint8

const (
	dead    state = 1 << iota // stopped; it is taken out later
	owed                      // an update waits for an acknowledgement
	unbegun                   // that is the first one, with all fields
)

// unlimited is the window of what is no pipeline.
const unlimited = math.MaxUint32

// place is where a subscription is: a slice and a position in it.
type place struct {
	slice int32 // quietSlice: it has no updates
	pos   int32
}

const quietSlice = -1

// group holds the subscriptions of a slice.
type group struct {
	subs   []subscription
	dead   int
	steady int // those alive that get an update every turn
}

func (c *session) group(p place) *group {
	if p.slice == quietSlice {
		return &c.quiet
	}
	return &c.slices[p.slice]
}

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
		return // it may have ended meanwhile
	}
	if acknowledged > 0 {
		c.acknowledge(op, acknowledged)
	}
	switch q.Sub &^ proto.SubPipeline & proto.SubStart {
	case proto.SubStart:
		c.start(q.IOID, op)
	case proto.SubStop:
		c.stop(q.IOID, op)
	}
	if q.Sub&proto.SubDestroy != 0 {
		c.end(q.IOID)
	}
}

// start begins the updates of a MONITOR: the first is the last update, with all
// fields, at once.
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
	if 2*g.dead > len(g.subs) { // turns compact, but need not come between
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

// stop ends the updates of a MONITOR, if they were started. The subscription stays
// until the group is compacted.
func (c *session) stop(ioid uint32, op *operation) {
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

// acknowledge lets n more updates be sent, of which one may be owed.
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

// more returns a window that is n larger, and not unlimited.
func more(window, n uint32) uint32 { return uint32(min(uint64(window)+uint64(n), unlimited-1)) }

// pay appends the update that is owed to the answer: the last one.
func (c *session) pay(s *subscription) {
	tick, at := c.Latest(s.pv)
	before := len(c.buf)
	if c.buf = c.appendUpdate(c.buf, s, tick, at); len(c.buf) > before {
		c.Sent(1)
	}
	s.state &^= owed | unbegun
}

// appendUpdate appends an update of a subscription that may get one, if it has
// anything to tell.
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

// Ready implements circuit.Speaker. Without a clock turns wait for acknowledgements.
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
				squashed++ // the one before
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

// compact takes the stopped subscriptions out.
func (c *session) compact(g *group) {
	if g.dead == 0 {
		return
	}
	subs := g.subs[:0]
	for _, s := range g.subs {
		if s.state&dead == 0 {
			c.ops[s.ioid].place.pos = int32(len(subs))
			subs = append(subs, s)
		}
	}
	clear(g.subs[len(subs):]) // they point at shapes
	g.subs, g.dead = subs, 0
}
