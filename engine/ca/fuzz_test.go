package ca

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/sample"
)

// fuzzCircuit returns a circuit with an open scalar, an open array, a channel that
// is being created, and a long string, all telling r.
func fuzzCircuit(tb testing.TB, client *Client, r *recorder) *circuit {
	tb.Helper()
	c := newCircuit(client, netip.MustParseAddrPort("127.0.0.1:5064"), nil)
	r.up = true
	open := slot{sink: r, event: proto.Double.In(proto.TIME), count: 1, state: slotOpen, property: propertySubscribe}
	array, text := open, open
	array.array, array.count = true, 4
	text.event, text.array, text.text, text.property = proto.Char.In(proto.TIME), true, true, propertyNone
	for i, s := range []slot{open, array, {sink: r, state: slotCreating}, text} {
		s.ch = &channel{client: client, name: "PV", slot: uint32(i), sink: r, circuit: c, state: connecting}
		c.slots = append(c.slots, s)
	}
	return c
}

// FuzzCircuit feeds a circuit with what a server sent, whole and in two parts:
// nothing may panic, and sinks must be told the same.
func FuzzCircuit(f *testing.F) {
	s := sample.Sample{Time: proto.EpicsEpoch * 1e9, Word: 7, Bytes: make([]byte, 24)}
	events := proto.AppendEvent(nil, proto.Double.In(proto.TIME), false, &s, nil, 0)
	events = proto.AppendEvent(events, proto.Double.In(proto.TIME), true, &s, nil, 1)
	f.Add(events, uint16(50))
	f.Add(proto.AppendCreateChanReply(proto.AppendAccessRights(nil, 2, 0), proto.Long, 1, 2, 9), uint16(3))
	f.Add(proto.AppendReadReply(nil, proto.Double.In(proto.CTRL), false, &s, &sample.Metadata{Units: "V"}, 0), uint16(70))
	f.Add(proto.AppendEvent(nil, proto.Double.In(proto.CTRL), false, &s, &sample.Metadata{Units: "V"}, propertyBit), uint16(20))
	f.Add(proto.AppendEvent(nil, proto.Char.In(proto.TIME), true, &s, nil, 3), uint16(30))
	f.Add(append(proto.AppendServerDisconn(nil, 0), proto.AppendCreateChFail(nil, 2)...), uint16(0))
	f.Add(proto.AppendError(nil, 0, proto.StatusBadMask, proto.Header{Command: proto.CmdEventAdd, P2: 1}, "no"), uint16(16))
	f.Add(proto.AppendHeader(nil, proto.Header{Command: proto.CmdEventAdd, Size: 1 << 30, Count: 1 << 27}), uint16(24))
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		at := int(cut) % (len(b) + 1)
		whole, parts := &recorder{}, &recorder{}
		_, errWhole := feed(t, whole, b)
		_, errParts := feed(t, parts, b[:at], b[at:])
		if errWhole != nil || errParts != nil {
			return // the circuit ends, maybe a part earlier
		}
		if diff := cmp.Diff(whole.log, parts.log); diff != "" || len(whole.samples) != len(parts.samples) {
			t.Errorf("%d and %d samples, told (-whole +parts):\n%s", len(whole.samples), len(parts.samples), diff)
		}
	})
}

// feed hands parts to a circuit of its own as reads do.
func feed(t *testing.T, r *recorder, parts ...[]byte) (rest []byte, err error) {
	client := &Client{
		config: Config{}.withDefaults(), metrics: newMetrics(nil), ctx: t.Context(),
		searchWake: make(chan struct{}, 1), channels: map[uint32]*channel{}, penalties: penalties{},
	}
	c := fuzzCircuit(t, client, r)
	for _, p := range parts {
		rest = slices.Concat(rest, p)
		used, need, err := c.batch(rest, c.began)
		if err != nil {
			return rest, err
		}
		if used < len(rest) && need <= len(rest)-used {
			t.Fatalf("used %d of %d bytes, needs %d more", used, len(rest), need)
		}
		rest = rest[used:]
	}
	return rest, nil
}
