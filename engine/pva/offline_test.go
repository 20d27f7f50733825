package pva

import (
	"net/netip"
	"testing"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/search"
)

// offlineCircuit is a circuit without a connection, of a client that runs nothing.
type offlineCircuit struct {
	*circuit
	tb testing.TB
}

func offline(tb testing.TB) offlineCircuit {
	tb.Helper()
	client := &Client{
		config: Config{}.withDefaults(), metrics: newMetrics(), ctx: tb.Context(),
		channels: map[uint32]*channel{}, circuits: map[netip.AddrPort]*circuit{}, penalties: search.Penalties{},
		queue: newQueue(), udp: &udp{},
	}
	client.absences = newAbsences(client)
	client.searches = search.NewLoop(client.nextSearch, client.searchRound)
	c := newCircuit(client, netip.MustParseAddrPort("127.0.0.1:5075"), nil)
	c.ready = true
	return offlineCircuit{circuit: c, tb: tb}
}

// addChannel adds a channel that is being created, and returns its number.
func (c offlineCircuit) addChannel(sink capture.Sink) uint32 {
	ch := &channel{client: c.client, sink: sink, circuit: c.circuit, request: newRequest("", DefaultQueueSize, false), state: closed}
	ch.search.Name, ch.search.ID = "PV", uint32(len(c.client.channels))
	c.client.channels[ch.search.ID] = ch
	ch.enter(connecting)
	c.attach(ch)
	return ch.slot
}

// openChannel adds a channel of a type that has its first update.
func (c offlineCircuit) openChannel(sink capture.Sink, typ *proto.Type, first []any) {
	c.tb.Helper()
	id := c.addChannel(sink)
	s := &session{script: doubles("")}
	b := proto.AppendCreated(nil, &proto.Created{CID: id, SID: 100 + id}, s.flags())
	b = proto.AppendInitAnswer(b, proto.CmdMonitor, proto.Answer{IOID: id, Sub: proto.SubInit}, proto.Status{}, typ, s.flags())
	b = append(b, s.update(id, []int{fieldAll}, first...)...)
	if used, _, _, err := c.batch(b); err != nil || used != len(b) {
		c.tb.Fatal(used, err)
	}
}
