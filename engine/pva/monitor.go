package pva

import (
	"bytes"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
)

// roleChangedMeta is a role of an update in addition to the roles of its fields. It means that
// metadata has changed.
const roleChangedMeta role = 1 << 7

// start requests the type of a channel's updates. open starts the updates after the server has
// sent the type.
func (c *circuit) start(s *slot, id uint32) {
	request, f := c.client.requests.of(s.ch), c.flags()
	q := proto.Request{SID: s.sid, IOID: id, Sub: proto.SubInit}
	if c.client.config.Pipeline {
		q.Sub |= proto.SubPipeline
	}
	c.Send(func(dst []byte) []byte {
		if s.state == slotOpen {
			dst = proto.AppendDestroyRequest(dst, s.sid, id, f)
		}
		return proto.AppendInit(dst, proto.CmdMonitor, q, request.typ, request.value, uint32(c.client.config.QueueSize), f)
	})
	s.state, s.unacked = slotStarting, 0
}

// handleMonitor handles a MONITOR, which is usually an update. This is the hot path.
func (c *circuit) handleMonitor(o proto.Order, payload []byte) {
	r := proto.NewReader(payload, o)
	a := proto.ParseAnswer(&r, proto.CmdMonitor)
	s := c.at(a.IOID)
	switch {
	case a.Sub != 0:
		c.handleOddMonitor(s, a, &r)
		return
	case s == nil || r.Err() != nil:
		c.events++
		return
	}
	c.events++
	if s.state != slotOpen && !s.renewed {
		c.skipUpdate(s, &r)
		return
	}
	if !s.renewed {
		c.acknowledge(s, a.IOID)
	}
	if s.stale { // requests the whole value again
		c.skipUpdate(s, &r)
		c.drop(s, sample.TooLarge)
		if !s.renewed {
			c.start(s, a.IOID)
			s.stale = false
		}
		return
	}
	changes := c.update(s, &r)
	if r.Err() != nil {
		c.drop(s, sample.Malformed)
		c.lose(a.IOID, errMalformed, slotClearing) // the record is no longer correct
		return
	}
	c.deliver(s, changes)
}

// update applies an update to the record of a slot, and returns the roles of the changed
// fields.
func (c *circuit) update(s *slot, r *proto.Reader) (changes role) {
	l := s.layout
	c.changed = r.BitSet(c.changed)
	for n := c.changed.Next(0); n >= 0; {
		if n >= len(l.nodes) {
			r.Bytes(r.Len() + 1) // fails, because there is no such field
			return 0
		}
		node := &l.nodes[n]
		for i := node.first; i < node.end; i++ {
			changes |= c.applyField(s, &l.leaves[i], r)
		}
		n = c.changed.Next(int(node.next))
	}
	c.overrun = r.BitSet(c.overrun)
	return changes
}

// applyField reads a field of an update into the record, and returns the roles of the field.
// It adds roleChangedMeta if the field has changed.
func (c *circuit) applyField(s *slot, lf *leaf, r *proto.Reader) role {
	switch {
	case lf.role == 0 && lf.width > 0:
		r.Bytes(int(lf.width))
		return 0
	case lf.role == 0:
		c.scratch = r.Value(c.scratch[:0], lf.typ, &c.types)
		return 0
	case lf.width > 0:
		if s.record.set(r, lf) {
			return lf.role | roleChangedMeta
		}
		return lf.role
	}
	other := &s.record.others[lf.at]
	if lf.role&roleMeta == 0 {
		*other = r.Value((*other)[:0], lf.typ, &c.types)
		return lf.role
	}
	c.scratch = r.Value(c.scratch[:0], lf.typ, &c.types)
	if bytes.Equal(*other, c.scratch) {
		return lf.role
	}
	*other = append((*other)[:0], c.scratch...)
	return lf.role | roleChangedMeta
}

// deliver passes the metadata and the sample of an update to the sink.
func (c *circuit) deliver(s *slot, changes role) {
	l := s.layout
	if !c.overrun.Empty() && c.overran(l) {
		c.drop(s, sample.Overrun)
	}
	first := s.fresh
	if first {
		changes |= roleValue | roleAlarm
		if !s.kept {
			changes |= roleChangedMeta // includes fields whose first value is zero
		}
		s.fresh = false
	}
	if changes&roleAlarm != 0 {
		s.tag = l.tag(&s.record)
	}
	if changes&roleChangedMeta != 0 {
		s.sink.Metadata(l.metadata(&s.record, c.Host))
	}
	if changes&(roleValue|roleAlarm|roleTime) == 0 {
		return
	}
	var timed bool
	c.scratch, timed = l.sample(&c.sample, &s.record, s.tag, c.scratch)
	if c.stalls.burst && s.burst.full(&c.stalls, c.client.config.QueueSize, c.sample.Time) {
		s.sink.Suspect(c.stalls.from, c.stalls.to)
	}
	if !timed {
		c.sample.Time = c.now.UnixNano()
		c.sample.Tag |= sample.EngineClock
	}
	if first && s.check == client.CheckAsked {
		c.handleChecked(s)
		return
	}
	s.seen = c.checks.Second(c.now)
	if s.check != client.CheckNone {
		c.checks.Updated(&s.check)
	}
	s.sink.Sample(&c.sample)
}

// overran reports whether the server has dropped updates of fields that belong to the value.
func (c *circuit) overran(l *layout) bool {
	for n := c.overrun.Next(0); n >= 0 && n < len(l.nodes); n = c.overrun.Next(n + 1) {
		if l.roles(n)&roleValue != 0 {
			return true
		}
	}
	return false
}

// acknowledge counts an update of a pipelined monitor. After half a queue of updates it
// acknowledges all of them at once, so that the server may send the same number again.
func (c *circuit) acknowledge(s *slot, id uint32) {
	if !c.client.config.Pipeline {
		return
	}
	s.unacked++
	if int(s.unacked) < c.client.config.QueueSize/2 {
		return
	}
	c.acks = proto.AppendAck(c.acks, s.sid, id, uint32(s.unacked), c.flags())
	s.unacked = 0
}

// drop counts an update that is not delivered.
func (c *circuit) drop(s *slot, reason sample.Reason) {
	c.client.metrics.Drop(reason)
	s.sink.Dropped(reason, 1)
}

// skipUpdate skips an update that is not delivered. It decodes the update if the update may
// contain types that later updates name by number.
func (c *circuit) skipUpdate(s *slot, r *proto.Reader) {
	if s.layout == nil || !s.layout.anys {
		return
	}
	c.changed = r.BitSet(c.changed)
	for n := c.changed.Next(0); n >= 0 && n < len(s.layout.nodes) && r.Err() == nil; {
		node := &s.layout.nodes[n]
		for _, lf := range s.layout.leaves[node.first:node.end] {
			c.scratch = r.Value(c.scratch[:0], lf.typ, &c.types)
		}
		n = c.changed.Next(int(node.next))
	}
}

// handleOddMonitor handles the answer to SubInit, and the end of updates. s is nil if no slot
// has the number of the operation.
func (c *circuit) handleOddMonitor(s *slot, a proto.Answer, r *proto.Reader) {
	status := r.Status()
	init := a.Sub&proto.SubInit != 0
	err := r.Err()
	if err == nil {
		err = status.Err()
	}
	if s == nil || s.ch == nil {
		if init && err == nil {
			r.Type(&c.types) // later types may name parts of this type by number
		}
		return
	}
	switch {
	case s.state == slotStarting && init:
		c.handleInit(s, a.IOID, r, err)
	case s.state != slotOpen || a.Sub&proto.SubDestroy == 0: // nothing to do
	case err != nil:
		c.lose(a.IOID, err, slotClearing)
	default:
		if r.Len() > 0 { // a last update
			if changes := c.update(s, r); r.Err() == nil {
				c.deliver(s, changes)
			}
		}
		c.lose(a.IOID, errEnded, slotClearing)
	}
}

// handleInit handles the answer to SubInit. r has the type of the updates, unless err is set.
func (c *circuit) handleInit(s *slot, id uint32, r *proto.Reader, err error) {
	var l *layout
	if err == nil {
		l, err = c.layoutOf(r, c.client.requests.of(s.ch))
	}
	if err != nil {
		c.lose(id, err, slotClearing)
		return
	}
	c.open(s, id, l)
}

// open connects the sink, and starts the updates of a type.
func (c *circuit) open(s *slot, id uint32, l *layout) {
	before := s.layout
	c.setLayout(s, l)
	if s.connected == sample.Unknown {
		s.ch.Since = time.Now()
	}
	info := capture.ChannelInfo{Type: l.typ, TypeName: l.typeName, Count: l.count, Host: c.Host}
	if l.typ == sample.Unknown {
		s.state, s.connected = slotUseless, l.typ
		s.ch.Enter(client.Unusable)
		s.sink.Connected(info)
		c.Send(func(dst []byte) []byte { return proto.AppendDestroyRequest(dst, s.sid, id, c.flags()) })
		return
	}
	if s.kept = s.check == client.CheckAsked && before == l && !s.fresh; !s.kept {
		s.record, s.tag = newRecord(l), 0
	}
	s.fresh, s.stale, s.renewed, s.state = true, false, false, slotOpen
	if s.connected != l.typ {
		s.connected = l.typ
		s.ch.Enter(client.Connected)
		s.sink.Connected(info)
	}
	start := proto.Request{SID: s.sid, IOID: id, Sub: proto.SubStart}
	c.Send(func(dst []byte) []byte { return proto.AppendRequest(dst, proto.CmdMonitor, start, c.flags()) })
}

// layoutOf reads a type from a message and returns its layout for a request. Channels share
// layouts. Most channels of a server have one of a few types, and the server writes these
// types in full. layoutOf finds their layouts by the bytes of the type, without decoding the
// type.
func (c *circuit) layoutOf(r *proto.Reader, q *request) (*layout, error) {
	order := r.Order()
	written := r.Bytes(r.Len())
	c.key = append(append(c.key[:0], keyWritten[order]), written...)
	if l := c.shared(q); l != nil {
		return l, nil
	}
	plain := proto.NewReader(written, order)
	t := plain.Type(nil)
	if plain.Err() != nil { // the type names other types by number, or is malformed
		numbered := proto.NewReader(written, order)
		if t = numbered.Type(&c.types); numbered.Err() != nil {
			return nil, numbered.Err()
		}
		c.key = proto.AppendType(append(c.key[:0], keyCanonical), t, proto.LittleEndian)
		if l := c.shared(q); l != nil {
			return l, nil
		}
	}
	l := newLayout(t, q.wanted)
	c.key = append(append(c.key, 0), q.fields...)
	l.key = string(c.key)
	c.layouts[l.key] = l
	return l, nil
}

// The first byte of a layout's key defines the encoding of the type in the key.
const keyCanonical = 2

var keyWritten = map[proto.Order]byte{proto.LittleEndian: 0, proto.BigEndian: 1}

// shared returns the layout for a request and the type in c.key, or nil if there is no such
// layout.
func (c *circuit) shared(q *request) *layout {
	n := len(c.key)
	c.key = append(append(c.key, 0), q.fields...)
	l := c.layouts[string(c.key)]
	c.key = c.key[:n]
	return l
}

// setLayout sets the layout of a slot to l, which may be nil. It removes the slot's old layout
// if no other slot uses it.
func (c *circuit) setLayout(s *slot, l *layout) {
	if l != nil {
		l.users++
	}
	if old := s.layout; old != nil {
		if old.users--; old.users == 0 {
			delete(c.layouts, old.key)
		}
	}
	s.layout = l
}
