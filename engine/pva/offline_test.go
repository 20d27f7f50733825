package pva

import (
	"net/netip"
	"testing"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/pva/proto"
)

// offlineCircuit is a circuit without a connection. Its client is not started.
type offlineCircuit struct {
	*circuit
	tb testing.TB
}

func offline(tb testing.TB) offlineCircuit {
	tb.Helper()
	owner, err := newClient(Config{})
	if err != nil {
		tb.Fatal(err)
	}
	c := newCircuit(owner, client.NewLink(owner.kernel, netip.MustParseAddrPort("127.0.0.1:5075"), nil))
	c.ready = true
	return offlineCircuit{circuit: c, tb: tb}
}

// addChannel adds a channel that is being created and returns its number.
func (c offlineCircuit) addChannel(sink capture.Sink) uint32 {
	ch := c.client.kernel.Subscribe("PV", capture.SubscribeOptions{}, sink)
	c.client.kernel.Assign(ch, c.circuit)
	return ch.Slot
}

// openChannel adds a channel of a type. The channel has received its first update.
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
