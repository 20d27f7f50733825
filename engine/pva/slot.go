package pva

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
)

// slotState is where a channel is on its circuit:
//
//	attach         CREATE_CHANNEL            MONITOR          detach         DESTROY_CHANNEL
//	 free ─▶ creating ─────────▶ starting ───────────▶ open ─────────▶ clearing ───────▶ free
//	            │                  ▲ │ │                │                 ▲
//	            │                  └─│─│── restart ─────┤                 │
//	            │                    │ └─▶ useless ─────┴─────────────────┤
//	            │ detach             └────────────────────────────────────┤
//	            └──────▶ orphan ──────────────────────────────────────────┘
//
// A number is used again only when the server confirmed that it sends no more
// updates under it. A refused CREATE_CHANNEL, and a DESTROY_CHANNEL that the server
// sends by itself, free a slot in any state.
type slotState uint8

const (
	slotFree     slotState = iota
	slotCreating           // CREATE_CHANNEL sent, or to be when the server lets us in
	slotStarting           // MONITOR sent, with SubInit
	slotOpen               // the monitor runs, and the sink was told
	slotUseless            // it has nothing of what is asked for
	slotOrphan             // the channel was closed while creating
	slotClearing           // DESTROY_CHANNEL sent
)

// slot is a channel on a circuit. Its index is the channel's cid there, and the
// ioid of its monitor.
type slot struct {
	sink   capture.Sink
	layout *layout
	record record
	ch     *channel // nil for free, orphan and clearing
	sid    uint32   // the server's number of the channel
	tag    sample.Tag
	burst  burst
	// unacked are the updates received and not acknowledged.
	unacked uint16
	state   slotState
	fresh   bool        // the next update is the first, and has all fields
	stale   bool        // an update is missing, so that the record is not the value
	told    sample.Type // that the sink knows of; Unknown if it is not connected
}

// Causes of a channel's end.
var (
	errRefused   = errors.New("the server refused to create the channel")
	errDeleted   = errors.New("the server deleted the channel")
	errEnded     = errors.New("the server ended the updates")
	errMalformed = errors.New("an update does not decode")
)

// at returns the slot of a number that a server sent, nil if there is none.
func (c *circuit) at(id uint32) *slot {
	if uint64(id) >= uint64(len(c.slots)) || c.slots[id].state == slotFree {
		return nil
	}
	return &c.slots[id]
}

// attach puts a channel on the circuit. It reports false if the circuit is over
// or the channel was closed meanwhile.
func (c *circuit) attach(ch *channel) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || ch.closed.Load() {
		return false
	}
	if n := len(c.free); n > 0 {
		ch.slot = c.free[n-1]
		c.free = c.free[:n-1]
	} else {
		ch.slot = uint32(len(c.slots))
		c.slots = append(c.slots, slot{})
	}
	s := &c.slots[ch.slot]
	*s = slot{ch: ch, sink: ch.sink, state: slotCreating}
	if c.ready {
		c.create(s, ch.slot)
	}
	return true
}

func (c *circuit) create(s *slot, id uint32) {
	c.send(func(dst []byte) []byte { return proto.AppendCreateChannel(dst, id, s.ch.search.Name, c.flags()) })
}

// detach takes a channel that was closed off the circuit.
func (c *circuit) detach(ch *channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.at(ch.slot)
	if c.over || s == nil || s.ch != ch {
		return // it went back to the client, which saw that it is closed
	}
	s.ch, s.sink = nil, nil
	switch {
	case s.state == slotCreating && c.ready:
		s.state = slotOrphan
	case s.state == slotCreating:
		c.freeSlot(s, ch.slot)
	default:
		c.clear(s, ch.slot)
	}
	c.client.searchAgain(ch) // does not, for a closed one
}

// clear ends a channel at the server.
func (c *circuit) clear(s *slot, id uint32) {
	c.send(func(dst []byte) []byte {
		if s.state == slotOpen || s.state == slotStarting {
			dst = proto.AppendDestroyRequest(dst, s.sid, id, c.flags())
		}
		return proto.AppendDestroyChannel(dst, s.sid, id, c.flags())
	})
	s.state = slotClearing
}

// created handles the answer to CREATE_CHANNEL.
func (c *circuit) created(r *proto.Reader) error {
	a, err := proto.ParseCreated(r)
	if err != nil {
		return malformed(proto.CmdCreateChannel, err)
	}
	s := c.at(a.CID)
	if s == nil || s.state != slotCreating && s.state != slotOrphan {
		return nil
	}
	if err := a.Status.Err(); err != nil {
		c.lose(a.CID, fmt.Errorf("%w: %w", errRefused, err), slotFree)
		return nil
	}
	s.sid = a.SID
	if s.state == slotOrphan {
		c.clear(s, a.CID)
		return nil
	}
	s.ch.search.Home = c.server
	c.start(s, a.CID)
	return nil
}

// destroyed handles DESTROY_CHANNEL: the confirmation of ours, or the server's own.
func (c *circuit) destroyed(r *proto.Reader) error {
	sid, cid, err := proto.ParseDestroyChannel(r)
	if err != nil {
		return malformed(proto.CmdDestroyChannel, err)
	}
	s := c.at(cid)
	if s == nil || s.sid != sid || s.state == slotCreating || s.state == slotOrphan {
		return nil // of a channel that had the number before
	}
	c.lose(cid, errDeleted, slotFree)
	return nil
}

// lose gives a channel back to be searched for, and leaves its slot clearing, if
// the server still has the channel, or free.
func (c *circuit) lose(id uint32, cause error, next slotState) {
	s := c.at(id)
	if s == nil {
		return
	}
	if s.ch != nil {
		s.ch.search.Home = netip.AddrPort{} // the server is there, but will not have it
		c.giveBack(s, cause, false)
	}
	if next == slotClearing {
		c.clear(s, id)
		return
	}
	c.freeSlot(s, id)
}

// giveBack tells the sink of a channel and searches for it again. A sink is told of
// refusals, too, as the cause why a channel is not connected.
func (c *circuit) giveBack(s *slot, cause error, lost bool) {
	ch := s.ch
	told := s.told != sample.Unknown || s.state == slotUseless
	if (told || !lost) && !ch.closed.Load() {
		s.sink.Disconnected(fmt.Errorf("losing %s: %w", c.host, cause))
	}
	s.ch, s.sink = nil, nil
	c.client.searchAgain(ch)
}

// freeSlot frees a slot, and ends a circuit that nothing uses any more.
func (c *circuit) freeSlot(s *slot, id uint32) {
	c.setLayout(s, nil)
	*s = slot{}
	c.free = append(c.free, id)
	c.idleLocked()
}

// EndIfIdle implements search.Circuit.
func (c *circuit) EndIfIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idleLocked()
}

// idleLocked ends a circuit that nothing uses.
func (c *circuit) idleLocked() {
	if len(c.free) < len(c.slots) {
		return
	}
	c.client.mu.Lock()
	pinned := c.pinned
	c.client.mu.Unlock()
	if !pinned {
		c.cancel(errIdle)
	}
}

// lostSince returns since when updates are lost as the circuit ends: behind a frame
// that came in part, or in a silence. It is zero if none are.
func (c *circuit) lostSince(cause error) time.Time {
	since := c.partial.Since()
	if since.IsZero() && errors.Is(cause, errSilent) {
		return c.stall.last // since when, nobody knows
	}
	return since
}

// release gives all channels back: the circuit is over.
func (c *circuit) release(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	since, now := c.lostSince(cause), time.Now()
	for i := range c.slots {
		if s := &c.slots[i]; s.ch != nil {
			if s.state == slotOpen && !since.IsZero() {
				s.sink.Suspect(since.UnixNano(), now.UnixNano())
			}
			c.giveBack(s, cause, true)
		}
	}
	c.slots, c.free, c.layouts = nil, nil, nil
}
