package ca

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/sample"
)

// slotState is the state of a channel on its circuit:
//
//	attach         CREATE_CHAN          detach           CLEAR_CHANNEL
//	 free ─▶ creating ────────▶ open ──────────▶ clearing ────────▶ free
//	            │                ▲ │ ACCESS_RIGHTS    ▲
//	            │                │ ▼                  │
//	            │              blocked ───────────────┤
//	            ├─────────────▶ untyped ──────────────┤
//	            │ detach         CREATE_CHAN          │
//	            └──────▶ orphan ──────────────────────┘
//
// The circuit reuses a number only after the server has confirmed that it sends no more
// updates with this number. CREATE_CH_FAIL and SERVER_DISCONN free a slot in any state.
type slotState uint8

const (
	slotFree     slotState = iota
	slotCreating           // CREATE_CHAN sent
	slotOpen               // subscribed, and the sink is connected
	slotBlocked            // subscribed, but the client may not read
	slotUntyped            // its type cannot be archived
	slotOrphan             // closed while creating
	slotClearing           // CLEAR_CHANNEL sent
)

// slot is a channel on a circuit. Its index is the channel's cid on the circuit, and the ID of
// its subscription and its reads. The index with propertyBit is the ID of its subscription to
// metadata.
type slot struct {
	sink     capture.Sink
	ch       *client.Channel // nil if free, orphan or clearing
	sid      uint32          // the server's number for the channel
	count    uint32          // native elements
	seen     uint32          // second of the circuit in which the last update arrived
	asked    uint32          // second of the circuit in which its value was requested
	event    proto.DBR
	array    bool // the value is an array on the wire
	text     bool // a long string: an array of CHAR up to the first NUL
	denied   bool // the client may not read it
	state    slotState
	property propertyState
	check    client.CheckState
}

// typ returns the type of a slot's samples.
func (s *slot) typ() sample.Type {
	if s.text {
		return sample.String
	}
	return s.event.SampleType(s.array)
}

// elements returns the maximum number of elements of a slot's samples.
func (s *slot) elements() int {
	if s.text {
		return 1
	}
	return int(s.count)
}

// These errors are causes for which a channel is lost.
var (
	errRefused = errors.New("the server refused to create the channel")
	errDeleted = errors.New("the server deleted the channel")
)

// at returns the slot with a number that a server sent, or nil if there is no such slot.
func (c *circuit) at(id uint32) *slot {
	if uint64(id) >= uint64(len(c.slots)) || c.slots[id].state == slotFree {
		return nil
	}
	return &c.slots[id]
}

// Attach implements client.Circuit.
func (c *circuit) Attach(ch *client.Channel, a client.Answer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || ch.Closed() {
		return false
	}
	c.minor = max(c.minor, a.Minor)
	if n := len(c.free); n > 0 {
		ch.Slot = c.free[n-1]
		c.free = c.free[:n-1]
	} else {
		ch.Slot = uint32(len(c.slots))
		c.slots = append(c.slots, slot{})
	}
	c.slots[ch.Slot] = slot{ch: ch, sink: ch.Sink, state: slotCreating}
	c.Send(func(dst []byte) []byte { return proto.AppendCreateChan(dst, ch.Name(), ch.Slot) })
	return true
}

// Detach implements client.Circuit.
func (c *circuit) Detach(ch *client.Channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.at(ch.Slot)
	if c.over || s == nil || s.ch != ch {
		return // the kernel has removed the channel
	}
	if s.state == slotCreating {
		s.state = slotOrphan
	} else {
		c.clear(s, ch.Slot)
	}
	s.ch, s.sink = nil, nil
	c.client.kernel.SearchAgain(ch) // removes the channel, because it is closed
}

// clear ends a channel at the server.
func (c *circuit) clear(s *slot, id uint32) {
	c.Send(func(dst []byte) []byte {
		if s.state == slotOpen || s.state == slotBlocked {
			dst = s.appendPropertyCancel(dst, id)
			dst = proto.AppendEventCancel(dst, s.event, c.requestCount(s), s.sid, id)
		}
		return proto.AppendClearChannel(dst, s.sid, id)
	})
	s.state = slotClearing
}

// handleCreated handles the answer to CREATE_CHAN.
func (c *circuit) handleCreated(h *proto.Header) {
	s := c.at(h.P1)
	if s == nil || s.state != slotCreating && s.state != slotOrphan {
		return
	}
	s.sid, s.count = h.P2, h.Count
	if s.state == slotOrphan {
		c.clear(s, h.P1)
		return
	}
	s.ch.Since = time.Now()
	native := proto.DBR(h.Type)
	if native.Form() != proto.Plain {
		s.state = slotUntyped
		s.ch.Enter(client.Unusable)
		s.sink.Connected(capture.ChannelInfo{TypeName: native.String(), Count: int(h.Count), Host: c.Host})
		return
	}
	s.ch.SetHome(c.Server)
	s.event = native.In(proto.TIME)
	s.text = native == proto.Char && strings.HasSuffix(s.ch.Name(), "$")
	s.array = h.Count != 1 || s.text
	c.Send(func(dst []byte) []byte {
		return proto.AppendEventAdd(dst, s.event, c.requestCount(s), s.sid, h.P1, uint16(s.ch.Options.Events))
	})
	if native != proto.String && !s.text {
		c.properties.addLocked(s, h.P1)
	}
	if s.denied {
		c.block(s)
		return
	}
	c.open(s)
}

// requestCount returns the number of elements to subscribe to. It is 0 for an array if the
// server supports it: each update then has as many elements as its value.
func (c *circuit) requestCount(s *slot) uint32 {
	if s.array && c.minor >= proto.MinorZeroCount {
		return 0
	}
	return s.count
}

// open connects the sink. Updates follow.
func (c *circuit) open(s *slot) {
	s.state = slotOpen
	s.ch.Enter(client.Connected)
	s.sink.Connected(capture.ChannelInfo{
		Type: s.typ(), TypeName: s.event.Native().String(), Count: s.elements(), Host: c.Host,
	})
	if s.property == propertyNone {
		c.deliverMetadata(s, noProperties())
	}
}

// block disconnects the sink until the client may read again.
func (c *circuit) block(s *slot) {
	s.state = slotBlocked
	s.ch.Enter(client.Unusable)
	s.sink.Disconnected(fmt.Errorf("%s: %w", c.Host, capture.ErrAccessDenied))
}

// handleAccessRights handles ACCESS_RIGHTS, which a server sends before the answer to
// CREATE_CHAN and on every change.
func (c *circuit) handleAccessRights(id uint32, rights proto.Rights) {
	s := c.at(id)
	if s == nil {
		return
	}
	s.denied = rights&proto.RightRead == 0
	switch {
	case s.state == slotOpen && s.denied:
		c.block(s)
	case s.state == slotBlocked && !s.denied:
		c.unblock(s, id)
	}
}

// unblock connects the sink again. The server then sends the values of the subscriptions
// without a request.
func (c *circuit) unblock(s *slot, id uint32) {
	s.denied = false
	c.open(s)
	if s.property == propertyRead {
		c.Send(func(dst []byte) []byte { return s.appendPropertyRequest(dst, id) })
	}
}

// unblockFor unblocks a slot if the server sent an update that the client may read. EPICS base
// may send such an update before the ACCESS_RIGHTS that allow it. unblockFor reports whether
// to handle the update.
func (c *circuit) unblockFor(s *slot, h *proto.Header) bool {
	if s.state != slotBlocked || h.P1 != uint32(proto.StatusNormal) || h.Size == 0 {
		return false
	}
	c.unblock(s, h.P2&^propertyBit)
	return true
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
// connect. A sink without read access was notified before.
func (c *circuit) giveBack(s *slot, cause error) {
	ch := s.ch
	switch {
	case ch.Closed() || s.state == slotBlocked:
	case s.state == slotCreating:
		s.sink.Disconnected(fmt.Errorf("found at %s, but not connected: %w", c.Host, cause))
	default:
		s.sink.Disconnected(fmt.Errorf("lost %s: %w", c.Host, cause))
	}
	s.ch, s.sink = nil, nil
	c.client.kernel.SearchAgain(ch)
}

// handleCleared handles the confirmation of CLEAR_CHANNEL.
func (c *circuit) handleCleared(id uint32) {
	if s := c.at(id); s != nil && s.state == slotClearing {
		c.freeSlot(s, id)
	}
}

// freeSlot frees a slot. It ends the circuit if no channel uses the circuit any longer.
func (c *circuit) freeSlot(s *slot, id uint32) {
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

// Release implements client.Circuit.
func (c *circuit) Release(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for i := range c.slots {
		if s := &c.slots[i]; s.ch != nil {
			c.giveBack(s, cause)
		}
	}
	c.slots, c.free = nil, nil
}
