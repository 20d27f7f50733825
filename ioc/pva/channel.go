package pva

import (
	"slices"

	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/ioc/sim"
)

// These limits bound the memory of the server that a client can use. A channel needs about 100
// bytes, and an operation about 200.
const (
	maxChannels   = 1 << 20
	maxOperations = 1 << 20
	maxShapes     = 256 // different sets of requested fields
)

// noChannel is the number of a channel that could not be created.
const noChannel = ^uint32(0)

// channel is a client's handle of a PV.
type channel struct {
	cid uint32 // the client's ID of the channel
	pv  sim.PV
	ops []uint32 // the client's IDs of the channel's operations
}

// createChannels handles CREATE_CHANNEL.
func (c *session) createChannels(r *proto.Reader) {
	all, err := proto.ParseCreateChannel(r)
	if err != nil {
		return
	}
	c.Busy()
	for _, want := range all {
		a := proto.Created{CID: want.CID, SID: noChannel}
		pv, ok := c.server.set.Find([]byte(want.Name))
		switch {
		case !ok:
			a.Status = failure("there is no PV of this name")
		case len(c.channels) >= maxChannels:
			a.Status = failure("too many channels")
		default:
			a.SID = c.newSID()
			c.channels[a.SID] = &channel{cid: want.CID, pv: pv}
		}
		c.buf = proto.AppendCreated(c.buf, &a, fromServer)
	}
}

func (c *session) newSID() uint32 {
	for {
		c.lastSID++
		if c.channels[c.lastSID] == nil && c.lastSID != noChannel {
			return c.lastSID
		}
	}
}

// destroyChannel handles DESTROY_CHANNEL. The operations end without a message.
func (c *session) destroyChannel(r *proto.Reader) {
	sid, cid, err := proto.ParseDestroyChannel(r)
	ch := c.channels[sid]
	if err != nil || ch == nil {
		return
	}
	for _, ioid := range slices.Clone(ch.ops) {
		c.end(ioid)
	}
	delete(c.channels, sid)
	c.buf = proto.AppendDestroyChannel(c.buf, sid, cid, fromServer)
}

// getField handles GET_FIELD.
func (c *session) getField(r *proto.Reader) {
	q := proto.Request{SID: r.Uint32(), IOID: r.Uint32()}
	path := string(r.String())
	ch := c.channels[q.SID]
	switch {
	case r.Err() != nil:
	case ch == nil:
		c.fail(proto.CmdGetField, q, "no such channel")
	case path == "":
		c.answerType(proto.CmdGetField, q, ch.pv.Kind)
	default:
		t, _ := c.server.layouts[ch.pv.Kind].typ.Find(path)
		if t == nil {
			c.fail(proto.CmdGetField, q, "no such field")
			return
		}
		c.buf = proto.AppendInitAnswer(c.buf, proto.CmdGetField, proto.Answer{IOID: q.IOID}, proto.Status{}, t, fromServer)
	}
}

// answerType answers a request with the type of a kind of PV. If the client can cache the
// type, the first answer gives it a number, and later answers send only the number.
func (c *session) answerType(cmd proto.Command, q proto.Request, k sim.Kind) {
	start := len(c.buf)
	c.buf = proto.BeginAnswer(c.buf, cmd, proto.Answer{IOID: q.IOID, Sub: q.Sub}, fromServer)
	c.buf = proto.AppendStatus(c.buf, proto.Status{}, proto.LittleEndian)
	switch t := c.server.layouts[k].typ; {
	case int(k) >= c.registry:
		c.buf = proto.AppendType(c.buf, t, proto.LittleEndian)
	case c.sentTypes[k]:
		c.buf = proto.AppendTypeNumber(c.buf, uint16(k), proto.LittleEndian)
	default:
		c.sentTypes[k] = true
		c.buf = proto.AppendNumberedType(c.buf, uint16(k), t, proto.LittleEndian)
	}
	c.buf = proto.End(c.buf, start)
}
