package ca

import (
	"encoding/binary"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc/sim"
)

// subscription is a client's subscription to a PV.
type subscription struct {
	id       uint32 // the client's ID of the subscription
	at       uint32 // offset of its frame in the group's frames
	tag      sample.Tag
	elements int32
	typ      proto.DBR
	fast     bool // patch can update the frame without the codec
	alarm    bool // the client wants events on alarm changes
	dead     bool // cancelled
	pv       sim.PV
}

// size returns the size of the subscription's frame in bytes.
func (s *subscription) size() int { return frameSize(s.typ, int(s.elements)) }

// frameSize returns the size of a message with the given number of elements of a type.
func frameSize(t proto.DBR, elements int) int {
	size := proto.Padded(t.PayloadSize(elements))
	if size >= 0xffff || elements > 0xffff {
		return proto.ExtendedHeaderSize + size
	}
	return proto.HeaderSize + size
}

// group holds the subscriptions of one slice of a session. frames has their frames one after
// another: the latest EVENT_ADD messages. The number of elements of a subscription is fixed,
// so a frame never changes its size.
type group struct {
	subs   []subscription
	frames []byte
	dead   int
}

// add appends a subscription with the value at a tick, and returns its frame.
func (g *group) add(s subscription, e *encoder, tick, unixNanos int64) []byte {
	s.at = uint32(len(g.frames))
	v := e.value(s.pv, s.typ.Native(), int(s.elements), tick)
	v.Time = unixNanos
	s.tag = v.Tag
	g.frames = proto.AppendEvent(g.frames, s.typ, array(s.pv), &v, e.set.Metadata(s.pv.Kind), s.id)
	g.subs = append(g.subs, s)
	return g.frames[s.at:]
}

// array reports whether the value of a PV is an array.
func array(p sim.PV) bool { return p.Kind == sim.Wave }

// compact removes the cancelled subscriptions and calls moved for the remaining ones, with
// their new positions.
func (g *group) compact(moved func(id uint32, pos int)) {
	if g.dead == 0 {
		return
	}
	subs, frames := g.subs[:0], g.frames[:0]
	for _, s := range g.subs {
		if s.dead {
			continue
		}
		frame := g.frames[s.at:][:s.size()]
		s.at = uint32(len(frames))
		moved(s.id, len(subs))
		frames, subs = append(frames, frame...), append(subs, s)
	}
	g.subs, g.frames, g.dead = subs, frames, 0
}

// stamp is the time of an update, in ns since 1970 and as an EPICS time stamp.
type stamp struct {
	unix        int64
	secs, nanos uint32
}

func makeStamp(unixNanos int64) stamp {
	secs, nanos := proto.EpicsTime(unixNanos)
	return stamp{unixNanos, secs, nanos}
}

// fastest reports whether patch can update the frame without the codec. This needs a scalar
// number in the PV's native type, in TIME form.
func fastest(p sim.PV, t proto.DBR) bool {
	native := natives[p.Kind]
	return native != proto.String && !array(p) && t == native.In(proto.TIME)
}

// patch updates the frame of a subscription to the value, alarm and time of a tick.
func (e *encoder) patch(frame []byte, s *subscription, tick int64, at stamp) {
	if !s.fast {
		v := e.value(s.pv, s.typ.Native(), int(s.elements), tick)
		v.Time = at.unix
		head := s.size() - proto.Padded(s.typ.PayloadSize(int(s.elements)))
		// The size of the value has not changed, so this writes in place.
		proto.AppendValue(frame[:head], s.typ, array(s.pv), &v, e.set.Metadata(s.pv.Kind))
		return
	}
	word, tag := s.pv.Number(tick)
	p := frame[proto.HeaderSize:]
	binary.BigEndian.PutUint16(p, tag.Status())
	binary.BigEndian.PutUint16(p[2:], uint16(tag.Severity()))
	binary.BigEndian.PutUint32(p[4:], at.secs)
	binary.BigEndian.PutUint32(p[8:], at.nanos)
	p = p[s.typ.ValueOffset():]
	switch s.typ.Native() {
	case proto.Double:
		binary.BigEndian.PutUint64(p, word)
	case proto.Long:
		binary.BigEndian.PutUint32(p, uint32(word))
	case proto.Enum:
		binary.BigEndian.PutUint16(p, uint16(word))
	}
}
