package pva

import (
	"math"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc/sim"
)

// subscription is a started MONITOR.
type subscription struct {
	shape  *shape
	pv     sim.PV
	tick   int64      // tick of the last update sent
	tag    sample.Tag // alarm of the last update sent
	ioid   uint32     // the client's ID of the operation
	window uint32     // number of updates that may be sent; unlimited without a pipeline
	state  state
}

// state is a bit set of the special properties of a subscription.
type state uint8

const (
	dead    state = 1 << iota // stopped; compact removes it later
	owed                      // an update waits for an acknowledgement
	unbegun                   // the owed update is the first one, with all fields
)

// unlimited is the window of a subscription without a pipeline.
const unlimited = math.MaxUint32

// place is the position of a subscription: a slice and an index in the slice.
type place struct {
	slice int32 // quietSlice if the subscription has no updates
	pos   int32
}

const quietSlice = -1

// group holds the subscriptions of a slice.
type group struct {
	subs   []subscription
	dead   int
	steady int // number of active subscriptions that get an update in every turn
}

func (c *session) group(p place) *group {
	if p.slice == quietSlice {
		return &c.quiet
	}
	return &c.slices[p.slice]
}

// compact removes the stopped subscriptions of a group.
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
	clear(g.subs[len(subs):]) // frees their shapes
	g.subs, g.dead = subs, 0
}
