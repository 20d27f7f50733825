package ca

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// slotState is where a channel is on its circuit:
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
// A number is used again only when the server confirmed that it sends no more
// updates under it. CREATE_CH_FAIL and SERVER_DISCONN free a slot in any state.
type slotState uint8

const (
	slotFree     slotState = iota
	slotCreating           // CREATE_CHAN sent
	slotOpen               // subscribed, and the sink was told
	slotBlocked            // subscribed, but the client may not read
	slotUntyped            // of a type that can not be archived
	slotOrphan             // the channel was closed while creating
	slotClearing           // CLEAR_CHANNEL sent
)

// slot is a channel on a circuit. Its index is the channel's cid there, the id of
// its subscription and its read and, with propertyBit, of that to its metadata.
type slot struct {
	sink     capture.Sink
	ch       *channel // nil for free, orphan and clearing
	sid      uint32   // the server's number of the channel
	count    uint32   // native elements
	seen     uint32   // second of the circuit in which the last update came
	event    proto.DBR
	array    bool // on the wire
	text     bool // a long string: an array of CHAR up to the first NUL
	denied   bool // reading
	state    slotState
	property propertyState
}

// typ returns the type of a slot's samples.
func (s *slot) typ() sample.Type {
	if s.text {
		return sample.String
	}
	return s.event.SampleType(s.array)
}

// elements returns the most elements of a slot's samples.
func (s *slot) elements() int {
	if s.text {
		return 1
	}
	return int(s.count)
}

// Causes of a channel's end.
var (
	errRefused  = errors.New("the server refused to create the channel")
	errDeleted  = errors.New("the server deleted the channel")
	errNoAccess = errors.New("the server allows no read access")
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
func (c *circuit) attach(ch *channel, minor uint16) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || ch.closed.Load() {
		return false
	}
	c.minor = max(c.minor, minor)
	if n := len(c.free); n > 0 {
		ch.slot = c.free[n-1]
		c.free = c.free[:n-1]
	} else {
		ch.slot = uint32(len(c.slots))
		c.slots = append(c.slots, slot{})
	}
	c.slots[ch.slot] = slot{ch: ch, sink: ch.sink, state: slotCreating}
	c.send(func(dst []byte) []byte { return proto.AppendCreateChan(dst, ch.search.Name, ch.slot) })
	return true
}

// detach takes a channel that was closed off the circuit.
func (c *circuit) detach(ch *channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.at(ch.slot)
	if c.over || s == nil || s.ch != ch {
		return // it went back to the client, which saw that it is closed
	}
	if s.state == slotCreating {
		s.state = slotOrphan
	} else {
		c.clear(s, ch.slot)
	}
	s.ch, s.sink = nil, nil
	c.client.searchAgain(ch) // does not, for a closed one
}

// clear ends a channel at the server.
func (c *circuit) clear(s *slot, id uint32) {
	c.send(func(dst []byte) []byte {
		if s.state == slotOpen || s.state == slotBlocked {
			dst = s.cancelProperties(dst, id)
			dst = proto.AppendEventCancel(dst, s.event, c.askFor(s), s.sid, id)
		}
		return proto.AppendClearChannel(dst, s.sid, id)
	})
	s.state = slotClearing
}

// created handles the answer to CREATE_CHAN.
func (c *circuit) created(h *proto.Header) {
	s := c.at(h.P1)
	if s == nil || s.state != slotCreating && s.state != slotOrphan {
		return
	}
	s.sid, s.count = h.P2, h.Count
	if s.state == slotOrphan {
		c.clear(s, h.P1)
		return
	}
	s.ch.since = time.Now()
	native := proto.DBR(h.Type)
	if native.Form() != proto.Plain {
		s.state = slotUntyped
		s.ch.enter(unusable)
		s.sink.Connected(capture.ChannelInfo{TypeName: native.String(), Count: int(h.Count), Host: c.host})
		return
	}
	s.ch.search.Home = c.server
	s.event = native.In(proto.TIME)
	s.text = native == proto.Char && strings.HasSuffix(s.ch.search.Name, "$")
	s.array = h.Count != 1 || s.text
	c.send(func(dst []byte) []byte {
		return proto.AppendEventAdd(dst, s.event, c.askFor(s), s.sid, h.P1, s.ch.mask)
	})
	if native != proto.String && !s.text {
		c.properties.await(s, h.P1)
	}
	c.open(s)
	if s.denied {
		c.block(s)
	}
}

// askFor returns the number of elements to subscribe to: as many as there are at
// the time of an update, where the server knows that.
func (c *circuit) askFor(s *slot) uint32 {
	if s.array && c.minor >= proto.MinorZeroCount {
		return 0
	}
	return s.count
}

// open tells the sink that updates will come.
func (c *circuit) open(s *slot) {
	s.state = slotOpen
	s.ch.enter(connected)
	s.sink.Connected(capture.ChannelInfo{
		Type: s.typ(), TypeName: s.event.Native().String(), Count: s.elements(), Host: c.host,
	})
	if s.property == propertyNone {
		c.deliver(s, noProperties())
	}
}

// block tells the sink that no updates come until the client may read again.
func (c *circuit) block(s *slot) {
	s.state = slotBlocked
	s.ch.enter(unusable)
	s.sink.Disconnected(errNoAccess)
}

// accessRights handles ACCESS_RIGHTS, which comes before CREATE_CHAN's answer and
// on every change.
func (c *circuit) accessRights(id uint32, rights proto.Rights) {
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

// unblock tells the sink that updates come again. Subscriptions send their values
// by themselves.
func (c *circuit) unblock(s *slot, id uint32) {
	s.denied = false
	c.open(s)
	if s.property == propertyRead {
		c.send(func(dst []byte) []byte { return s.askProperties(dst, id) })
	}
}

// allowed reports whether an update of a slot that is not open is to be taken: EPICS
// base may send it before the ACCESS_RIGHTS that allow it.
func (c *circuit) allowed(s *slot, h *proto.Header) bool {
	if s.state != slotBlocked || h.P1 != uint32(proto.StatusNormal) || h.Size == 0 {
		return false
	}
	c.unblock(s, h.P2&^propertyBit)
	return true
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
		c.giveBack(s, cause)
	}
	if next == slotClearing {
		c.clear(s, id)
		return
	}
	c.freeSlot(s, id)
}

// giveBack tells the sink of a channel and searches for it again.
func (c *circuit) giveBack(s *slot, cause error) {
	ch := s.ch
	told := s.state == slotOpen || s.state == slotUntyped
	if told && !ch.closed.Load() {
		s.sink.Disconnected(fmt.Errorf("losing %s: %w", c.host, cause))
	}
	s.ch, s.sink = nil, nil
	c.client.searchAgain(ch)
}

// cleared handles the confirmation of CLEAR_CHANNEL.
func (c *circuit) cleared(id uint32) {
	if s := c.at(id); s != nil && s.state == slotClearing {
		c.freeSlot(s, id)
	}
}

// freeSlot frees a slot, and ends a circuit that nothing uses any more.
func (c *circuit) freeSlot(s *slot, id uint32) {
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

// release gives all channels back: the circuit is over.
func (c *circuit) release(cause error) {
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
