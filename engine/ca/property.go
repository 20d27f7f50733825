package ca

import (
	"math"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/sample"
)

// propertyBit marks the subscription to a channel's metadata: the ID of this subscription is
// the slot's number with this bit.
const propertyBit = 1 << 31

// propertyState is the state of the request for a slot's metadata.
type propertyState uint8

const (
	propertyNone      propertyState = iota // the type has no metadata: strings
	propertyWaiting                        // waiting to be requested
	propertySubscribe                      // requested by a subscription with DBE_PROPERTY
	propertyRead                           // requested by READ_NOTIFY, because the server refused the subscription
)

const (
	// A circuit starts at most 5,000 subscriptions to metadata per second, after the
	// subscriptions to values. In EPICS base, the cost of a new subscription grows with the
	// number of subscriptions of the circuit.
	propertyBatch    = 100
	propertyInterval = 20 * time.Millisecond
)

// properties has the slots of a circuit whose metadata has not been requested yet.
type properties struct {
	wake    chan struct{} // holds one token when slots wait
	waiting []uint32      // guarded by circuit.mu
}

// addLocked adds a slot, so that the circuit requests its metadata later.
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
			continue // the channel was closed or lost
		}
		s.property = propertySubscribe
		c.Send(func(dst []byte) []byte { return s.appendPropertyRequest(dst, id) })
	}
	if p.waiting = p.waiting[n:]; len(p.waiting) == 0 {
		p.waiting = nil // frees the memory of a burst
	}
	return p.waiting != nil
}

// appendPropertyRequest appends the request for a slot's metadata. The first update of the
// subscription is the metadata, and later updates are its changes.
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

// appendPropertyCancel appends a request to end the subscription to a slot's metadata.
func (s *slot) appendPropertyCancel(dst []byte, id uint32) []byte {
	if s.property != propertySubscribe {
		return dst
	}
	return proto.AppendEventCancel(dst, s.event.In(proto.CTRL), 1, s.sid, id|propertyBit)
}

// handlePropertyEvent handles an update of a slot's metadata, or an error in place of one.
func (c *circuit) handlePropertyEvent(h *proto.Header, payload []byte) {
	id := h.P2 &^ propertyBit
	s := c.at(id)
	if s == nil || s.state != slotOpen && !c.unblockFor(s, h) {
		return
	}
	switch status := proto.Status(h.P1); {
	case status.OK():
		c.handleMetadata(s, proto.DBR(h.Type), payload)
	case status != proto.StatusNoReadAccess: // ACCESS_RIGHTS reports a missing read access too
		c.readProperties(s, id)
	}
}

// readProperties reads the metadata of a channel if the server refuses a subscription to the
// metadata. It does so once per connection, because such a server does not report changes.
func (c *circuit) readProperties(s *slot, id uint32) {
	if s.state != slotOpen && s.state != slotBlocked || s.property != propertySubscribe {
		return
	}
	s.property = propertyRead
	if s.state == slotOpen { // otherwise unblock sends the request
		c.Send(func(dst []byte) []byte { return s.appendPropertyRequest(dst, id) })
	}
}

// handleReadNotify handles the answer to the request of readProperties, or to that of a check. If
// the server reports an error, the channel stays without metadata.
func (c *circuit) handleReadNotify(h *proto.Header, payload []byte) {
	switch s := c.at(h.P2); {
	case s == nil || s.state != slotOpen:
	case proto.DBR(h.Type) == s.event:
		if s.check == client.CheckAsked {
			c.handleChecked(s, h, payload)
		}
	case proto.Status(h.P1).OK():
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

// deliverMetadata delivers metadata together with the type, count and host of the channel.
func (c *circuit) deliverMetadata(s *slot, m *sample.Metadata) {
	m.Type, m.Count, m.Host = s.typ(), s.elements(), c.Host
	s.sink.Metadata(m)
}

// noProperties returns empty metadata, for a type that has no metadata.
func noProperties() *sample.Metadata {
	m := new(sample.Metadata)
	nan := math.NaN()
	m.SetLimits([8]float64{nan, nan, nan, nan, nan, nan, nan, nan})
	return m
}
