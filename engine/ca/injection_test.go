package ca

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
)

var (
	searched = netip.MustParseAddr("127.0.0.1") // the address to which searches go
	foreign  = netip.MustParseAddr("192.0.2.66")
	intruder = netip.MustParseAddrPort("192.0.2.66:5064") // the server in injected answers
)

// datagram is a datagram of searches.
type datagram struct {
	from     netip.AddrPort
	sequence uint32
	cids     []uint32
}

// nextSearch returns the next datagram that arrives at a server.
func nextSearch(t testing.TB, server *net.UDPConn) (d datagram) {
	t.Helper()
	buf := make([]byte, 1<<16)
	n, from, err := server.ReadFromUDPAddrPort(buf)
	if err != nil {
		t.Fatal(err)
	}
	d.from = from
	for b := buf[:n]; len(b) > 0; {
		var h proto.Header
		_, used, err := proto.ReadFrame(b, &h, 1400)
		if err != nil {
			t.Fatal(err)
		}
		if sequence, ok := proto.Sequence(&h); ok {
			d.sequence = sequence
		} else {
			d.cids = append(d.cids, h.P1)
		}
		b = b[used:]
	}
	return d
}

// hang waits for a connection in vain.
func hang(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// searching returns a client that searches for names at a server.
func searching(t testing.TB, names int, dial func(context.Context, string, string) (net.Conn, error),
) (c *Client, server *net.UDPConn, registry *prometheus.Registry) {
	t.Helper()
	server, registry = clienttest.Listen(t), prometheus.NewRegistry()
	config := Config{Config: clienttest.ByUDP(server.LocalAddr().String())}
	config.Registerer, config.Dial = registry, dial
	c = clienttest.Start(t, New, config)
	for range names {
		c.Subscribe("PV", capture.SubscribeOptions{}, &recorder{})
	}
	return c, server, registry
}

func TestBlindAnswersMoveNoPV(t *testing.T) {
	const names, answers = 20, 30_000
	c, server, registry := searching(t, names, hang)
	nextSearch(t, server)
	guess := map[string]func(i int) []byte{
		"no sequence number":         func(int) []byte { return nil },
		"caproto's sequence number":  func(int) []byte { return proto.AppendUDPVersion(nil, caprotoSequence) },
		"sequence numbers from zero": func(i int) []byte { return proto.AppendUDPVersion(nil, uint32(i)) },
		"random sequence numbers":    func(int) []byte { return proto.AppendUDPVersion(nil, rand.Uint32()) },
	}
	for name, version := range guess {
		for i := range answers {
			c.udp.handleDatagram(proto.AppendSearchReply(version(i), intruder, uint32(i%1000)), foreign)
		}
		if s := c.kernel.Stats(); s.Attached > 0 || s.Circuits > 0 {
			t.Fatalf("%s: %d PVs moved to a foreign server", name, s.Attached)
		}
	}
	if got := clienttest.Gather(t, registry)["varve_ca_search_answers_dropped_total unknown_channel"]; got != float64(answers*len(guess)) {
		t.Errorf("%v dropped answers counted, want %d", got, answers*len(guess))
	}
}

func TestAnswersCountOnlyFromHostsThatGotTheSearch(t *testing.T) {
	version := func(add uint32) func(uint32) []byte {
		return func(sequence uint32) []byte { return proto.AppendUDPVersion(nil, sequence+add) }
	}
	caproto := func(uint32) []byte { return proto.AppendUDPVersion(nil, caprotoSequence) }
	none := func(uint32) []byte { return nil }
	for name, test := range map[string]struct {
		from    netip.Addr
		version func(sequence uint32) []byte
		dropped string // the reason, or empty if the answer counts
	}{
		"server":                                    {searched, version(0), ""},
		"multi-homed server":                        {foreign, version(0), ""},
		"old server":                                {searched, none, ""},
		"caproto":                                   {searched, caproto, ""},
		"foreign host without a sequence number":    {foreign, none, "foreign_address"},
		"foreign host as caproto":                   {foreign, caproto, "foreign_address"},
		"foreign host with a wrong number":          {foreign, version(1000), "wrong_sequence"},
		"searched address with a wrong number":      {searched, version(1000), "wrong_sequence"},
		"searched address with an older datagram's": {searched, version(1<<32 - 1), "wrong_sequence"},
	} {
		t.Run(name, func(t *testing.T) {
			c, server, registry := searching(t, 1, hang)
			d := nextSearch(t, server)
			c.udp.handleDatagram(proto.AppendSearchReply(test.version(d.sequence), intruder, d.cids[0]), test.from)
			attached := c.kernel.Stats().Attached == 1
			if counts := test.dropped == ""; attached != counts {
				t.Errorf("the answer counts: %v, want %v", attached, counts)
			}
			if got := clienttest.Gather(t, registry)["varve_ca_search_answers_dropped_total "+test.dropped]; test.dropped != "" && got != 1 {
				t.Errorf("%v answers counted as %s", got, test.dropped)
			}
		})
	}
}

func TestServerMayNotAnswerForChannelsThatItWasNotAskedFor(t *testing.T) {
	names, other := doubles(nameServerAddr), doubles(otherAddr)
	names.redirect, names.lacks = map[string]string{"ONE": otherAddr}, map[string]bool{"TWO": true}
	var two uint32
	names.override = func(_ *session, h *proto.Header, payload []byte) bool {
		if h.Command == proto.CmdSearch && string(proto.Text(payload)) == "TWO" {
			two = h.P1
		}
		return false
	}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		answer := func() []byte { return proto.AppendSearchReply(nil, other.circuitAddr(), two) }
		clienttest.CheckUnaskedServer(t, c, func() { other.last().write(answer()) }, func() { names.last().write(answer()) })
	}, names, other)
}

func TestNumbersOfChannelsCannotBeGuessed(t *testing.T) {
	const names = 50
	_, server, _ := searching(t, names, hang)
	seen := map[uint32]bool{}
	for len(seen) < names {
		for _, cid := range nextSearch(t, server).cids {
			seen[cid] = true
		}
	}
	near := 0
	for cid := range seen {
		if seen[cid+1] || cid < 1<<16 {
			near++
		}
	}
	if near > 2 { // one is expected once in a thousand runs
		t.Errorf("%d of %d numbers follow another or are small", near, names)
	}
}

// withNumbers returns b with the numbers 1, 2, … replaced by those of channels.
func withNumbers(b []byte, cids []uint32) []byte {
	for i := 0; i+4 <= len(b); i += 4 {
		if n := binary.BigEndian.Uint32(b[i:]); n > 0 && int(n) <= len(cids) {
			binary.BigEndian.PutUint32(b[i:], cids[n-1])
		}
	}
	return b
}
