package pva

import (
	"math"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc/sim"
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

// state is a bit set of the special properties of a subscription.
type state uint8

const (
	dead    state = 1 << iota // stopped; it is taken out later
	owed                      // an update waits for an acknowledgement
	unbegun                   // the update owed is the first one, with all fields
)

// unlimited is the window of a subscription without a pipeline.
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

// compact removes the stopped subscriptions.
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
