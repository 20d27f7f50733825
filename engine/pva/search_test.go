package pva

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/search"
	"varve.dev/varve/test/epics"
)

func TestNameThatNoServerHasIsSearchedForWithBackOff(t *testing.T) {
	server := doubles(nameServerAddr)
	server.lacks = map[string]bool{"NOBODY": true}
	bubble(t, func(t *testing.T, _ *clienttest.Network, c *Client) {
		clienttest.CheckSearchBackOff(t, c, 3, func() int { return server.count(proto.CmdSearch) })
	}, server)
}

// nextSearch returns the next SEARCH that arrives.
func nextSearch(t *testing.T, conn *net.UDPConn) (proto.Search, netip.AddrPort) {
	t.Helper()
	buf := make([]byte, 1<<16)
	n, from, err := conn.ReadFromUDPAddrPort(buf)
	if err != nil {
		t.Fatal(err)
	}
	if n > search.MaxDatagram {
		t.Errorf("the client sent a datagram of %d bytes", n)
	}
	var h proto.Header
	payload, used, err := proto.ReadFrame(buf[:n], &h, 1400)
	if err != nil || used != n {
		t.Fatalf("ReadFrame used %d of %d bytes: %v", used, n, err)
	}
	r := proto.NewReader(payload, h.Order())
	s, err := proto.ParseSearch(&r)
	if err != nil {
		t.Fatal(err)
	}
	if s.ReplyTo.Addr().IsValid() || s.ReplyTo.Port() != from.Port() {
		t.Errorf("the search requests an answer to %v, but it comes from %v", s.ReplyTo, from)
	}
	return s, from
}

func TestDatagramsHaveManyNamesAndOnlyAnswersToThemCount(t *testing.T) {
	server := clienttest.Listen(t)
	c := clienttest.Start(t, New, Config{Config: clienttest.ByUDP(server.LocalAddr().String())})
	const names = 300
	for i := range names {
		c.Subscribe(fmt.Sprintf("SOME:LONGISH:NAME-%d", i), capture.SubscribeOptions{}, &recorder{})
	}
	seen := map[uint32]bool{}
	datagrams := 0
	for ; len(seen) < names; datagrams++ {
		s, from := nextSearch(t, server)
		if s.Flags != proto.SearchUnicast {
			t.Errorf("a search to one host has flags %x", s.Flags)
		}
		for _, ch := range s.Channels {
			seen[ch.CID] = true
		}
		response := proto.SearchResponse{
			Sequence: s.Sequence + 1000, Server: netip.MustParseAddrPort("127.0.0.1:1"), Protocol: "tcp", Found: true,
			CIDs: []uint32{s.Channels[0].CID},
		}
		stale := proto.AppendSearchResponse(nil, &response, proto.FlagServer)
		response.Sequence, response.Found = s.Sequence, false
		absent := proto.AppendSearchResponse(nil, &response, proto.FlagServer)
		response.Found, response.Protocol = true, "tls"
		other := proto.AppendSearchResponse(nil, &response, proto.FlagServer)
		for _, answer := range [][]byte{stale, absent, other, other[:20], {1}, nil} {
			if _, err := server.WriteToUDPAddrPort(answer, from); err != nil {
				t.Fatal(err)
			}
		}
	}
	if datagrams > 25 {
		t.Errorf("the client sent %d datagrams for %d names", datagrams, names)
	}
	if s := c.kernel.Stats(); s.Circuits > 0 {
		t.Error("the client accepted an answer for another client")
	}
}

func TestBeaconOfANewServerHastensTheSearch(t *testing.T) {
	server := clienttest.Listen(t)
	port := epics.FreePort(t, "127.255.255.255")
	c := clienttest.Start(t, New, Config{Config: clienttest.ByUDP(server.LocalAddr().String()), BroadcastPort: uint16(port)})
	if len(c.beacons.conns) == 0 {
		t.Skip("this host has no loopback interface to receive broadcasts on")
	}
	c.Subscribe("PV", capture.SubscribeOptions{}, &recorder{})
	for range 9 { // then the delay is at least 5.6 s
		nextSearch(t, server)
	}
	sender, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(127, 255, 255, 255), Port: port})
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	beacon := proto.Beacon{GUID: proto.GUID{1}, Server: netip.MustParseAddrPort("127.0.0.1:5075"), Protocol: "tcp"}
	for run := range 2 {
		beacon.GUID[0]++
		for range 3 { // only the first beacon after each start of a server is an anomaly
			began := time.Now()
			if _, err := sender.Write(proto.AppendBeacon(nil, &beacon, proto.FlagServer)); err != nil {
				t.Fatal(err)
			}
			if beacon.Sequence++; beacon.Sequence%3 == 1 {
				nextSearch(t, server)
				if took := time.Since(began); took > 4*time.Second {
					t.Errorf("run %d of the server: the client searched after %v", run, took)
				}
			}
		}
	}
	clienttest.Await(t, "the beacons to be counted", func() bool { return clienttest.Value(c.metrics.Beacons) == 6 })
	c.beacons.mu.Lock()
	defer c.beacons.mu.Unlock()
	if len(c.beacons.seen) != 1 {
		t.Errorf("the client remembers %d servers", len(c.beacons.seen))
	}
}
