package pva

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
)

// slotState is the state of a channel on its circuit:
//
//	attach         CREATE_CHANNEL            MONITOR          detach         DESTROY_CHANNEL
//	 free ─▶ creating ─────────▶ starting ───────────▶ open ─────────▶ clearing ───────▶ free
//	            │                  ▲ │ │                │                 ▲
//	            │                  └─│─│── restart ─────┤                 │
//	            │                    │ └─▶ useless ─────┴─────────────────┤
//	            │ detach             └────────────────────────────────────┤
//	            └──────▶ orphan ──────────────────────────────────────────┘
//
// The circuit reuses a number only after the server has confirmed that it sends no more
// updates with this number. A refused CREATE_CHANNEL frees a slot in any state, and so does a
// DESTROY_CHANNEL that the server sends without a request.
type slotState uint8

const (
	slotFree     slotState = iota
	slotCreating           // CREATE_CHANNEL sent, or waiting until the server accepts the login
	slotStarting           // MONITOR with SubInit sent
	slotOpen               // the monitor runs, and the sink is connected
	slotUseless            // the channel has none of the requested fields
	slotOrphan             // closed while creating
	slotClearing           // DESTROY_CHANNEL sent
)

// slot is a channel on a circuit. Its index is the channel's cid on the circuit and the ioid
// of its monitor.
type slot struct {
	sink   capture.Sink
	layout *layout
	record record
	ch     *client.Channel // nil if free, orphan or clearing
	sid    uint32          // the server's number for the channel
	tag    sample.Tag
	burst  burst
	// unacked is the number of received updates that the client has not acknowledged.
	unacked uint16
	state   slotState
	fresh   bool // the next update is the first, and has all fields
	stale   bool // an update is missing, so that the record is not correct
	check   client.CheckState
	renewed bool   // the monitor was started again; until it is open, updates of the old one count
	kept    bool   // the record before the first update is that of the old monitor
	seen    uint32 // second of the circuit in which the last update arrived
	asked   uint32 // second of the circuit in which the monitor was started again
	// connected is the type with which the sink is connected, or Unknown if the sink is not
	// connected.
	connected sample.Type
}

// These errors are causes for which a channel is lost.
var (
	errRefused   = errors.New("the server refused to create the channel")
	errDeleted   = errors.New("the server deleted the channel")
	errEnded     = errors.New("the server ended the updates")
	errMalformed = errors.New("an update cannot be decoded")
)

// at returns the slot with a number that a server sent, or nil if there is no such slot.
func (c *circuit) at(id uint32) *slot {
	if uint64(id) >= uint64(len(c.slots)) || c.slots[id].state == slotFree {
		return nil
	}
	return &c.slots[id]
}

// Attach implements client.Circuit.
func (c *circuit) Attach(ch *client.Channel, _ client.Answer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || ch.Closed() {
		return false
	}
	if n := len(c.free); n > 0 {
		ch.Slot = c.free[n-1]
		c.free = c.free[:n-1]
	} else {
		ch.Slot = uint32(len(c.slots))
		c.slots = append(c.slots, slot{})
	}
	s := &c.slots[ch.Slot]
	*s = slot{ch: ch, sink: ch.Sink, state: slotCreating}
	if c.ready {
		c.create(s, ch.Slot)
	}
	return true
}

// create sends CREATE_CHANNEL.
func (c *circuit) create(s *slot, id uint32) {
	c.Send(func(dst []byte) []byte { return proto.AppendCreateChannel(dst, id, s.ch.Name(), c.flags()) })
}

// Detach implements client.Circuit.
func (c *circuit) Detach(ch *client.Channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.at(ch.Slot)
	if c.over || s == nil || s.ch != ch {
		return // the kernel has removed the channel
	}
	s.ch, s.sink = nil, nil
	switch {
	case s.state == slotCreating && c.ready:
		s.state = slotOrphan
	case s.state == slotCreating:
		c.freeSlot(s, ch.Slot)
	default:
		c.clear(s, ch.Slot)
	}
	c.client.kernel.SearchAgain(ch) // removes the channel, because it is closed
}

// clear ends a channel at the server.
func (c *circuit) clear(s *slot, id uint32) {
	c.Send(func(dst []byte) []byte {
		if s.state == slotOpen || s.state == slotStarting {
			dst = proto.AppendDestroyRequest(dst, s.sid, id, c.flags())
		}
		return proto.AppendDestroyChannel(dst, s.sid, id, c.flags())
	})
	s.state = slotClearing
}

// handleCreated handles the answer to CREATE_CHANNEL.
func (c *circuit) handleCreated(r *proto.Reader) error {
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
	s.ch.SetHome(c.Server)
	c.start(s, a.CID)
	return nil
}

// handleDestroyed handles DESTROY_CHANNEL. It confirms a request of the client, or the server
// itself has deleted the channel.
func (c *circuit) handleDestroyed(r *proto.Reader) error {
	sid, cid, err := proto.ParseDestroyChannel(r)
	if err != nil {
		return malformed(proto.CmdDestroyChannel, err)
	}
	s := c.at(cid)
	if s == nil || s.sid != sid || s.state == slotCreating || s.state == slotOrphan {
		return nil // the message is about a channel that had the number before
	}
	c.lose(cid, errDeleted, slotFree)
	return nil
}

// lose returns a channel to the search. next is the next state of its slot: slotClearing if
// the server still has the channel, otherwise slotFree.
func (c *circuit) lose(id uint32, cause error, next slotState) {
	s := c.at(id)
	if s == nil {
		return
	}
	if s.ch != nil {
		s.ch.SetHome(netip.AddrPort{}) // the server is up, but does not offer the channel
		c.giveBack(s, cause)
	}
	if next == slotClearing {
		c.clear(s, id)
		return
	}
	c.freeSlot(s, id)
}

// giveBack disconnects the sink of a channel and returns the channel to the search. It also
// notifies a sink that was not connected, because the cause explains why the channel does not
// connect.
func (c *circuit) giveBack(s *slot, cause error) {
	ch := s.ch
	switch {
	case ch.Closed():
	case s.connected != sample.Unknown || s.state == slotUseless:
		s.sink.Disconnected(fmt.Errorf("lost %s: %w", c.Host, cause))
	default:
		s.sink.Disconnected(fmt.Errorf("found at %s, but not connected: %w", c.Host, cause))
	}
	s.ch, s.sink = nil, nil
	c.client.kernel.SearchAgain(ch)
}

// freeSlot frees a slot. It ends the circuit if no channel uses the circuit any longer.
func (c *circuit) freeSlot(s *slot, id uint32) {
	c.setLayout(s, nil)
	*s = slot{}
	c.free = append(c.free, id)
	c.endIfIdleLocked()
}

// EndIfIdle implements search.Circuit.
func (c *circuit) EndIfIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endIfIdleLocked()
}

func (c *circuit) endIfIdleLocked() {
	if len(c.free) == len(c.slots) {
		c.EndUnlessPinned()
	}
}

// lostSince returns the time since which updates may be lost when the circuit ends with an
// incomplete frame or after a silence. It returns zero if no updates are lost.
func (c *circuit) lostSince(cause error) time.Time {
	since := c.partial.Since()
	if since.IsZero() && errors.Is(cause, errSilent) {
		return c.stalls.last // the server may have died at any time since then
	}
	return since
}

// Release implements client.Circuit.
func (c *circuit) Release(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	since, now := c.lostSince(cause), time.Now()
	for i := range c.slots {
		if s := &c.slots[i]; s.ch != nil {
			if s.state == slotOpen && !since.IsZero() {
				s.sink.Suspect(since, now)
			}
			c.giveBack(s, cause)
		}
	}
	c.slots, c.free, c.layouts = nil, nil, nil
}
