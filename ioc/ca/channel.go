package ca

import (
	"slices"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/ioc/sim"
)

// maxChannels limits the number of channels of a session.
const maxChannels = 1 << 20

// channel is a client's handle of a PV.
type channel struct {
	cid  uint32 // the client's ID of the channel
	pv   sim.PV
	subs []uint32 // the client's IDs of the channel's subscriptions
}

// createChannel handles CREATE_CHAN.
func (c *session) createChannel(h *proto.Header, payload []byte) {
	pv, ok := c.server.Set.Find(proto.Text(payload))
	if !ok || len(c.channels) >= maxChannels {
		c.buf = proto.AppendCreateChFail(c.buf, h.P1)
		return
	}
	c.Busy()
	c.lastSID++
	for c.channels[c.lastSID] != nil { // the ID may be in use after 2³² channels
		c.lastSID++
	}
	c.channels[c.lastSID] = &channel{cid: h.P1, pv: pv}
	c.buf = proto.AppendAccessRights(c.buf, h.P1, proto.RightRead)
	c.buf = proto.AppendCreateChanReply(c.buf, natives[pv.Kind], uint32(c.server.Set.Elements(pv.Kind)), h.P1, c.lastSID)
}

// clearChannel handles CLEAR_CHANNEL. The subscriptions end without a message.
func (c *session) clearChannel(h *proto.Header) {
	ch := c.channels[h.P1]
	if ch == nil {
		c.refuse(h, proto.StatusBadChannelID, "no such channel")
		return
	}
	for _, id := range ch.subs {
		c.end(id)
	}
	delete(c.channels, h.P1)
	c.buf = proto.AppendClearReply(c.buf, h.P1, h.P2)
}

// read handles READ_NOTIFY.
func (c *session) read(h *proto.Header) {
	t := proto.DBR(h.Type)
	ch := c.channels[h.P1]
	if status, _ := c.check(ch, t, h.Count); status != proto.StatusNormal {
		c.buf = appendReadFail(c.buf, t, status, h.P2)
		return
	}
	tick, at := c.Current(ch.pv) // even if events are late
	v := c.enc.value(ch.pv, t.Native(), c.elements(ch, h.Count), tick)
	v.Time = at
	c.buf = proto.AppendReadReply(c.buf, t, array(ch.pv), &v, c.server.Set.Metadata(ch.pv.Kind), h.P2)
}

// elements returns the number of elements to send to a client that requested count of them; 0
// requests all.
func (c *session) elements(ch *channel, count uint32) int {
	if count == 0 {
		return c.server.Set.Elements(ch.pv.Kind)
	}
	return int(count)
}

// appendReadFail appends the answer to a READ_NOTIFY that failed. As in EPICS base, the answer
// contains a value of zeros, because clients decode the value before they check the status.
func appendReadFail(dst []byte, t proto.DBR, status proto.Status, ioid uint32) []byte {
	if !t.Valid() {
		return proto.AppendReadFail(dst, t, status, ioid)
	}
	dst = proto.AppendHeader(dst, proto.Header{
		Command: proto.CmdReadNotify, Type: uint16(t), Size: uint32(proto.Padded(t.PayloadSize(1))), Count: 1,
		P1: uint32(status), P2: ioid,
	})
	return proto.AppendValue(dst, t, false, &sample.Sample{}, nil)
}

// check returns the reason why a channel cannot be read as type t, or StatusNormal.
func (c *session) check(ch *channel, t proto.DBR, count uint32) (proto.Status, string) {
	switch {
	case ch == nil:
		return proto.StatusBadChannelID, "no such channel"
	case !t.Valid():
		return proto.StatusBadType, "no such type"
	case !convertible(ch.pv.Kind, t.Native()):
		return proto.StatusNoConvert, "the text is not a number"
	case count > uint32(c.server.Set.Elements(ch.pv.Kind)):
		return proto.StatusBadCount, "the PV has fewer elements"
	}
	return proto.StatusNormal, ""
}

// drop removes a subscription from the channel's list.
func (ch *channel) drop(id uint32) {
	if i := slices.Index(ch.subs, id); i >= 0 {
		ch.subs = slices.Delete(ch.subs, i, i+1)
	}
}
