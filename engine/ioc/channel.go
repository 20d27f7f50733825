package ioc

import (
	"slices"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
)

// maxCircuitChannels bounds the channels of a circuit.
const maxCircuitChannels = 1 << 20

// channel is a client's handle of a PV.
type channel struct {
	cid  uint32 // the client's id
	pv   pv
	subs []uint32 // the client's ids of its subscriptions
}

// createChannel handles CREATE_CHAN.
func (c *circuit) createChannel(h *proto.Header, payload []byte) {
	kind, index, ok := c.names.find(proto.Text(payload))
	if !ok || len(c.channels) >= maxCircuitChannels {
		c.buf = proto.AppendCreateChFail(c.buf, h.P1)
		return
	}
	c.setup = c.sched.now()
	c.lastSID++
	for c.channels[c.lastSID] != nil { // after 2³² channels
		c.lastSID++
	}
	c.channels[c.lastSID] = &channel{cid: h.P1, pv: pv{kind, int32(index)}}
	c.buf = proto.AppendAccessRights(c.buf, h.P1, proto.RightRead)
	c.buf = proto.AppendCreateChanReply(c.buf, traits[kind].native, 1, h.P1, c.lastSID)
}

// clearChannel handles CLEAR_CHANNEL. The subscriptions end without a word.
func (c *circuit) clearChannel(h *proto.Header) {
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
func (c *circuit) read(h *proto.Header) {
	t := proto.DBR(h.Type)
	ch := c.channels[h.P1]
	if status, _ := check(ch, t, h.Count); status != proto.StatusNormal {
		c.buf = appendReadFail(c.buf, t, status, h.P2)
		return
	}
	turn := c.turn
	if !c.sched.flat() {
		turn = c.sched.next(c.sched.now()) // now, even if events are late
	}
	tick, at := c.before(turn, ch.pv)
	v := c.enc.value(ch.pv, t.Native(), tick)
	v.Time = at
	c.buf = proto.AppendReadReply(c.buf, t, false, &v, &metadata[ch.pv.kind], h.P2)
}

// appendReadFail appends the answer to a READ_NOTIFY that failed. As EPICS base
// does, it has a value of zeros: clients decode it before they see the status.
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

// before returns the tick of a PV's last update before a turn, and the time of
// that update in nanoseconds since 1970.
func (c *circuit) before(turn int64, p pv) (tick, unixNanos int64) {
	n := int64(p.index) % c.sched.slices
	tick = (turn - 1 - n) / c.sched.slices
	if c.sched.flat() {
		return tick, c.sched.unix(c.last)
	}
	return tick, c.sched.unix(c.sched.due(tick*c.sched.slices + n))
}

// check returns why a channel can not be read as type t.
func check(ch *channel, t proto.DBR, count uint32) (proto.Status, string) {
	switch {
	case ch == nil:
		return proto.StatusBadChannelID, "no such channel"
	case !t.Valid():
		return proto.StatusBadType, "no such type"
	case !convertible(ch.pv.kind, t.Native()):
		return proto.StatusNoConvert, "a text is no number"
	case count > 1:
		return proto.StatusBadCount, "the PV has one element"
	}
	return proto.StatusNormal, ""
}

// drop takes a subscription off the channel's list.
func (ch *channel) drop(id uint32) {
	if i := slices.Index(ch.subs, id); i >= 0 {
		ch.subs = slices.Delete(ch.subs, i, i+1)
	}
}
