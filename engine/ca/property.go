package ca

import (
	"math"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
)

// propertyBit marks the subscription to a channel's metadata: its id is the slot's number
// with this bit.
const propertyBit = 1 << 31

// propertyState is how a slot's metadata comes.
type propertyState uint8

const (
	propertyNone      propertyState = iota // the type has none: strings
	propertyWaiting                        // not requested yet
	propertySubscribe                      // by a subscription of DBE_PROPERTY
	propertyRead                           // by READ_NOTIFY: the server refused the subscription
)

const (
	// A circuit begins at most 5,000 subscriptions to metadata a second, after those to
	// values: in EPICS base, each costs more the more the circuit has.
	propertyBatch    = 100
	propertyInterval = 20 * time.Millisecond
)

// properties are the slots of a circuit whose metadata has not been requested yet.
type properties struct {
	wake    chan struct{} // holds one token when slots wait
	waiting []uint32      // guarded by circuit.mu
}

// addLocked adds a slot whose metadata is to be requested.
func (p *properties) addLocked(s *slot, id uint32) {
	s.property = propertyWaiting
	p.waiting = append(p.waiting, id)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// requestWaiting requests the metadata of some slots, and reports whether more wait.
func (c *circuit) requestWaiting() (more bool) {
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
		c.Send(func(dst []byte) []byte { return s.appendPropertyRequest(dst, id) })
	}
	if p.waiting = p.waiting[n:]; len(p.waiting) == 0 {
		p.waiting = nil // a burst's memory goes back
	}
	return p.waiting != nil
}

// appendPropertyRequest appends the request for a slot's metadata. The first update of
// the subscription is the metadata, later ones are its changes.
func (s *slot) appendPropertyRequest(dst []byte, id uint32) []byte {
	form := s.event.In(proto.CTRL)
	switch s.property {
	case propertySubscribe:
		return proto.AppendEventAdd(dst, form, 1, s.sid, id|propertyBit, uint16(capture.EventProperty))
	case propertyRead:
		return proto.AppendReadNotify(dst, form, 1, s.sid, id)
	}
	return dst
}

// appendPropertyCancel appends the end of the subscription to a slot's metadata.
func (s *slot) appendPropertyCancel(dst []byte, id uint32) []byte {
	if s.property != propertySubscribe {
		return dst
	}
	return proto.AppendEventCancel(dst, s.event.In(proto.CTRL), 1, s.sid, id|propertyBit)
}

// handlePropertyEvent handles an update of a slot's metadata, or the failure of one.
func (c *circuit) handlePropertyEvent(h *proto.Header, payload []byte) {
	id := h.P2 &^ propertyBit
	s := c.at(id)
	if s == nil || s.state != slotOpen && !c.unblockFor(s, h) {
		return
	}
	switch status := proto.Status(h.P1); {
	case status.OK():
		c.handleMetadata(s, proto.DBR(h.Type), payload)
	case status != proto.StatusNoReadAccess: // else ACCESS_RIGHTS reports it too
		c.readProperties(s, id)
	}
}

// readProperties reads the metadata of a channel whose server takes no subscription to
// it: once per connection, because the server does not report changes.
func (c *circuit) readProperties(s *slot, id uint32) {
	if s.state != slotOpen && s.state != slotBlocked || s.property != propertySubscribe {
		return
	}
	s.property = propertyRead
	if s.state == slotOpen { // else unblock reads them
		c.Send(func(dst []byte) []byte { return s.appendPropertyRequest(dst, id) })
	}
}

// handleReadNotify handles the answer to readProperties. If the server has no metadata,
// the channel has none.
func (c *circuit) handleReadNotify(h *proto.Header, payload []byte) {
	if s := c.at(h.P2); s != nil && s.state == slotOpen && proto.Status(h.P1).OK() {
		c.handleMetadata(s, proto.DBR(h.Type), payload)
	}
}

// handleMetadata decodes and delivers the metadata in a value of type t.
func (c *circuit) handleMetadata(s *slot, t proto.DBR, payload []byte) {
	if t != s.event.In(proto.CTRL) {
		return
	}
	m := new(sample.Metadata)
	if err := proto.DecodeMetadata(m, t, payload); err != nil {
		c.client.config.Log.Debug("metadata not decoded", "pv", s.ch.Name(), "server", c.Server, "err", err)
		return
	}
	c.deliverMetadata(s, m)
}

// deliverMetadata delivers metadata, with the type, count and host of the channel.
func (c *circuit) deliverMetadata(s *slot, m *sample.Metadata) {
	m.Type, m.Count, m.Host = s.typ(), s.elements(), c.Host
	s.sink.Metadata(m)
}

// noProperties returns the metadata of a type that has none.
func noProperties() *sample.Metadata {
	m := new(sample.Metadata)
	nan := math.NaN()
	m.SetLimits([8]float64{nan, nan, nan, nan, nan, nan, nan, nan})
	return m
}
