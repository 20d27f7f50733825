package pva

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/pva/proto"
)

var foreign = netip.MustParseAddr("192.0.2.66")

// reply returns an answer that an intruder would send.
func reply(sequence uint32, cids ...uint32) []byte {
	return proto.AppendSearchResponse(nil, &proto.SearchResponse{
		GUID: proto.GUID{66}, Sequence: sequence, Server: netip.AddrPortFrom(foreign, 5075), Protocol: "tcp", Found: true, CIDs: cids,
	}, proto.FlagServer)
}

// searching returns a client that searches for names at a server. Its circuits never connect.
func searching(t *testing.T, names int) (c *Client, server *net.UDPConn, registry *prometheus.Registry) {
	t.Helper()
	server, registry = clienttest.Listen(t), prometheus.NewRegistry()
	config := Config{Config: clienttest.ByUDP(server.LocalAddr().String())}
	config.Registerer = registry
	config.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c = clienttest.Start(t, New, config)
	for range names {
		c.Subscribe("PV", capture.SubscribeOptions{}, &recorder{})
	}
	return c, server, registry
}

func TestBlindAnswersMoveNoPV(t *testing.T) {
	const names, answers = 20, 30_000
	c, server, registry := searching(t, names)
	search, _ := nextSearch(t, server)
	guess := map[string]func(i int) uint32{
		"sequence numbers from zero": func(i int) uint32 { return uint32(i) },
		"random sequence numbers":    func(int) uint32 { return rand.Uint32() },
		"the right sequence number":  func(int) uint32 { return search.Sequence }, // channel numbers are secret, too
	}
	for name, sequence := range guess {
		for i := range answers {
			c.udp.handleDatagram(reply(sequence(i), uint32(i%1000)), foreign)
		}
		if s := c.kernel.Stats(); s.Attached > 0 || s.Circuits > 0 {
			t.Fatalf("%s: %d PVs moved to a foreign server", name, s.Attached)
		}
	}
	if got := clienttest.Gather(t, registry)["varve_pva_search_answers_dropped_total unknown_channel"]; got != float64(answers*len(guess)) {
		t.Errorf("%v dropped answers counted, want %d", got, answers*len(guess))
	}
}

func TestAnswersCountOnlyWithTheNumberOfTheSearch(t *testing.T) {
	for name, test := range map[string]struct {
		add   uint32
		moves bool
	}{
		"server": {0, true}, "wrong number": {1000, false}, "number of an older datagram": {1<<32 - 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, server, registry := searching(t, 1)
			search, _ := nextSearch(t, server)
			c.udp.handleDatagram(reply(search.Sequence+test.add, search.Channels[0].CID), foreign)
			if moved := c.kernel.Stats().Attached == 1; moved != test.moves {
				t.Errorf("the answer counts: %v, want %v", moved, test.moves)
			}
			if got := clienttest.Gather(t, registry)["varve_pva_search_answers_dropped_total wrong_sequence"]; (got == 0) != test.moves {
				t.Errorf("%v answers counted as dropped", got)
			}
		})
	}
}

func TestServerMayNotAnswerForChannelsThatItWasNotAskedFor(t *testing.T) {
	names, other := doubles(nameServerAddr), doubles(otherAddr)
	names.redirect, names.lacks = map[string]string{"ONE": otherAddr}, map[string]bool{"TWO": true}
	var two uint32
	names.override = func(_ *session, h *proto.Header, payload []byte) bool {
		if h.Command != proto.CmdSearch {
			return false
		}
		r := proto.NewReader(payload, h.Order())
		q, _ := proto.ParseSearch(&r)
		for _, ch := range q.Channels {
			if ch.Name == "TWO" {
				two = ch.CID
			}
		}
		return false
	}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		answer := func() []byte {
			return proto.AppendSearchResponse(nil, &proto.SearchResponse{
				Server: netip.MustParseAddrPort(otherAddr), Protocol: "tcp", Found: true, CIDs: []uint32{two},
			}, proto.FlagServer)
		}
		clienttest.CheckUnaskedServer(t, c, func() { other.last().write(answer()) }, func() { names.last().write(answer()) })
	}, names, other)
}
