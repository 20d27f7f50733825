package ca

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/sample"
)

// offline returns a circuit without a connection. Its client is not started.
func offline(tb testing.TB) *circuit {
	tb.Helper()
	owner, err := newClient(Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return newCircuit(owner, client.NewLink(owner.kernel, netip.MustParseAddrPort("127.0.0.1:5064"), nil))
}

// fuzzCircuit returns a circuit with an open scalar, an open array, a channel that
// is being created, and a long string, all with sink r.
func fuzzCircuit(tb testing.TB, r *recorder) *circuit {
	tb.Helper()
	c := offline(tb)
	r.Up = true
	open := slot{sink: r, event: proto.Double.In(proto.TIME), count: 1, state: slotOpen, property: propertySubscribe}
	array, text := open, open
	array.array, array.count = true, 4
	text.event, text.array, text.text, text.property = proto.Char.In(proto.TIME), true, true, propertyNone
	for _, s := range []slot{open, array, {sink: r, state: slotCreating}, text} {
		s.ch = c.client.kernel.Subscribe("PV", capture.SubscribeOptions{}, r)
		c.client.kernel.Assign(s.ch, c)
		c.slots[s.ch.Slot] = s
	}
	return c
}

// FuzzCircuit passes bytes of a server to a circuit, once in one part and once in two parts.
// Nothing must panic, and the sinks must get the same calls and samples both times.
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
			return // the circuit ends, possibly one part earlier
		}
		if diff := cmp.Diff(whole.Log, parts.Log); diff != "" || len(whole.Samples) != len(parts.Samples) {
			t.Errorf("got %d and %d samples, calls (-whole +parts):\n%s", len(whole.Samples), len(parts.Samples), diff)
		}
	})
}

// feed passes parts to a new circuit, like consecutive reads.
func feed(t *testing.T, r *recorder, parts ...[]byte) (rest []byte, err error) {
	c, now := fuzzCircuit(t, r), time.Now()
	for _, p := range parts {
		rest = slices.Concat(rest, p)
		used, need, err := c.batch(rest, now)
		if err != nil {
			return rest, err
		}
		if used < len(rest) && need <= len(rest)-used {
			t.Fatalf("the circuit used %d of %d bytes and needs %d more", used, len(rest), need)
		}
		rest = rest[used:]
	}
	return rest, nil
}

// FuzzSearchAnswers passes datagrams to the search socket. Nothing must panic, and no channel
// must get lost.
func FuzzSearchAnswers(f *testing.F) {
	reply := proto.AppendSearchReply(nil, netip.MustParseAddrPort("10.0.0.5:5064"), 1)
	f.Add(reply)
	f.Add(append(proto.AppendUDPVersion(nil, 1), reply...))
	f.Add(proto.AppendSearchReply(proto.AppendNotFound(nil, 2), netip.MustParseAddrPort("0.0.0.0:0"), 2))
	f.Add(proto.AppendHeader(nil, proto.Header{Command: proto.CmdSearch, Size: 1 << 30, P2: 1}))
	f.Add(reply[:15])
	const channels = 3
	c, server, _ := searching(f, channels, func(context.Context, string, string) (net.Conn, error) { return nil, client.ErrServerClosed })
	var cids []uint32
	for len(cids) < channels {
		cids = append(cids, nextSearch(f, server).cids...)
	}
	cids = cids[:channels]
	f.Fuzz(func(t *testing.T, b []byte) {
		c.udp.handleDatagram(withNumbers(slices.Clone(b), cids), searched)
		s := c.kernel.Stats()
		if owned := s.Searched + s.Attached; owned < channels-1 { // one channel may be moving between a circuit and the search
			t.Errorf("only %d of %d channels are searched for or on a circuit", owned, channels)
		}
	})
}

// FuzzBeacons passes datagrams to the beacon port of a repeater and to that of a client of a
// repeater.
func FuzzBeacons(f *testing.F) {
	server := netip.MustParseAddrPort("10.0.0.5:5064")
	f.Add(proto.AppendBeacon(nil, proto.Beacon{Server: server, ID: 3}))
	f.Add(proto.AppendBeacon(proto.AppendBeacon(nil, proto.Beacon{ID: 9, Minor: 7}), proto.Beacon{Server: server}))
	f.Add(proto.AppendRepeaterRegister(nil, netip.MustParseAddr("127.0.0.1")))
	f.Add(proto.AppendRepeaterConfirm(nil, netip.MustParseAddr("127.0.0.1")))
	f.Add([]byte{})
	f.Add(proto.AppendHeader(nil, proto.Header{Command: proto.CmdBeacon, Size: 1 << 20}))
	c, err := newClient(Config{})
	if err != nil {
		f.Fatal(err)
	}
	rep := newRepeater(c.metrics)
	defer rep.close()
	from := netip.MustParseAddrPort("127.0.0.1:9")
	f.Fuzz(func(t *testing.T, b []byte) {
		anomalies := [2]int{}
		for i, r := range []*repeater{rep, nil} {
			heard := newBeacons(c)
			heard.anomaly = func() { anomalies[i]++ }
			heard.handleDatagram(b, from, r)
			if servers := len(heard.detector.servers); servers > len(b)/proto.HeaderSize || anomalies[i] > servers {
				t.Errorf("found %d servers and %d anomalies in %d bytes", servers, anomalies[i], len(b))
			}
		}
		if anomalies[0] != anomalies[1] || len(rep.listeners) > 1 {
			t.Errorf("%v anomalies with and without a repeater, %d listeners", anomalies, len(rep.listeners))
		}
	})
}
