package ca

import (
	"math"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// propertyBit tells the subscription to a channel's metadata from that to its
// value: the id is the slot's number with this bit.
const propertyBit = 1 << 31

// propertyState is how a slot's metadata comes.
type propertyState uint8

const (
	propertyNone      propertyState = iota // the type has none: strings
	propertyWaiting                        // not asked for yet
	propertySubscribe                      // by a subscription of DBE_PROPERTY
	propertyRead                           // by READ_NOTIFY: the server refused that subscription
)

const (
	// Subscriptions to metadata are begun at most 5,000 a second, after those to
	// values: in EPICS base, each costs more the more the circuit has.
	propertyBatch    = 100
	propertyInterval = 20 * time.Millisecond
)

// properties are the slots of a circuit whose metadata is to be asked for.
type properties struct {
	wake    chan struct{} // holds one token when there are some
	waiting []uint32      // guarded by circuit.mu
}

// await notes that the metadata of a slot is to be asked for. It needs circuit.mu.
func (p *properties) await(s *slot, id uint32) {
	s.property = propertyWaiting
	p.waiting = append(p.waiting, id)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// askWaiting asks for the metadata of some slots, and reports whether more wait.
func (c *circuit) askWaiting() (more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.properties
	n := min(len(p.waiting), propertyBatch)
	for _, id := range p.waiting[:n] {
		s := c.at(id)
		if s == nil || s.state != slotOpen && s.state != slotBlocked || s.property != propertyWaiting {
			continue // closed meanwhile
		}
		s.property = propertySubscribe
		c.send(func(dst []byte) []byte { return s.askProperties(dst, id) })
	}
	if p.waiting = p.waiting[n:]; len(p.waiting) == 0 {
		p.waiting = nil // a burst's memory goes back
	}
	return p.waiting != nil
}

// askProperties appends the request for a slot's metadata. The first update of the
// subscription is the metadata, later ones are its changes.
func (s *slot) askProperties(dst []byte, id uint32) []byte {
	form := s.event.In(proto.CTRL)
	switch s.property {
	case propertySubscribe:
		return proto.AppendEventAdd(dst, form, 1, s.sid, id|propertyBit, uint16(capture.EventProperty))
	case propertyRead:
		return proto.AppendReadNotify(dst, form, 1, s.sid, id)
	}
	return dst
}

// cancelProperties appends the end of what askProperties began.
func (s *slot) cancelProperties(dst []byte, id uint32) []byte {
	if s.property != propertySubscribe {
		return dst
	}
	return proto.AppendEventCancel(dst, s.event.In(proto.CTRL), 1, s.sid, id|propertyBit)
}

// propertyEvent handles an update of a slot's metadata, or the failure of one.
func (c *circuit) propertyEvent(h *proto.Header, payload []byte) {
	id := h.P2 &^ propertyBit
	s := c.at(id)
	if s == nil || s.state != slotOpen && !c.allowed(s, h) {
		return
	}
	switch status := proto.Status(h.P1); {
	case status.OK():
		c.metadata(s, proto.DBR(h.Type), payload)
	case status != proto.StatusNoReadAccess: // else ACCESS_RIGHTS says so too
		c.readProperties(s, id)
	}
}

// readProperties reads the metadata of a channel whose server takes no
// subscription to it: once per connection, as changes are not told.
func (c *circuit) readProperties(s *slot, id uint32) {
	if s.state != slotOpen && s.state != slotBlocked || s.property != propertySubscribe {
		return
	}
	s.property = propertyRead
	if s.state == slotOpen { // else they are read when the client may
		c.send(func(dst []byte) []byte { return s.askProperties(dst, id) })
	}
}

// readNotified handles the answer to readProperties. A server that has no
// metadata leaves the channel without.
func (c *circuit) readNotified(h *proto.Header, payload []byte) {
	if s := c.at(h.P2); s != nil && s.state == slotOpen && proto.Status(h.P1).OK() {
		c.metadata(s, proto.DBR(h.Type), payload)
	}
}

// metadata decodes and delivers the metadata in a value of type t.
func (c *circuit) metadata(s *slot, t proto.DBR, payload []byte) {
	if t != s.event.In(proto.CTRL) {
		return
	}
	m := new(sample.Metadata)
	if err := proto.DecodeMetadata(m, t, payload); err != nil {
		c.client.config.Log.Debug("metadata not decoded", "pv", s.ch.search.Name, "server", c.server, "err", err)
		return
	}
	c.deliver(s, m)
}

// deliver completes metadata by what is known of every channel.
func (c *circuit) deliver(s *slot, m *sample.Metadata) {
	m.Type, m.Count, m.Host = s.typ(), s.elements(), c.host
	s.sink.Metadata(m)
}

// noProperties is the metadata of a type that has none.
func noProperties() *sample.Metadata {
	m := new(sample.Metadata)
	nan := math.NaN()
	m.SetLimits([8]float64{nan, nan, nan, nan, nan, nan, nan, nan})
	return m
}
