package ioc

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	ca "varve.dev/varve/engine/ca/proto"
	pva "varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/test/epics"
)

// listen returns a UDP socket on loopback, with a read deadline.
func listen(t *testing.T) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// exchange sends a datagram and returns the answer.
func exchange(t *testing.T, to netip.AddrPort, request []byte) []byte {
	t.Helper()
	conn, buf := listen(t), make([]byte, 2048)
	if _, err := conn.WriteToUDPAddrPort(request, to); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

func TestSearchesByUDP(t *testing.T) {
	shared := fmt.Sprintf("127.0.0.1:%d", epics.FreePort(t, "127.0.0.1"))
	cfg := Config{Channels: 3, PVASearch: shared}
	start(t, cfg)
	s := start(t, cfg) // the last socket bound to the port gets the datagrams
	var h ca.Header
	b := exchange(t, s.Addr(), ca.AppendSearch(ca.AppendUDPVersion(nil, 42), "SIM:RAMP:0001", 7, ca.DontReply))
	if _, _, err := ca.ReadFrame(b[ca.HeaderSize:], &h, 1<<10); err != nil {
		t.Fatal(err)
	}
	if cid, server := ca.ParseSearchReply(&h, s.Addr().Addr()); cid != 7 || server != s.Addr() {
		t.Errorf("the answer names channel %d at %v", cid, server)
	}
	search := pva.AppendSearchHead(nil, 42, 0, netip.AddrPort{}, 0)
	search = pva.FinishSearch(pva.AppendSearchChannel(search, 7, "SIM:RAMP:0001", pva.LittleEndian), 0, 1)
	for _, to := range []netip.AddrPort{s.PVAAddr(), netip.MustParseAddrPort(shared)} {
		b := exchange(t, to, search)
		r := pva.NewReader(b[pva.HeaderSize:], pva.LittleEndian)
		if a, err := pva.ParseSearchResponse(&r); err != nil || a.Server != s.PVAAddr() || len(a.CIDs) != 1 || a.CIDs[0] != 7 {
			t.Errorf("the answer of %v is %+v, %v", to, a, err)
		}
	}
}

func TestBeacons(t *testing.T) {
	caClient, pvaClient := listen(t), listen(t)
	s := start(t, Config{
		Channels: 1, Beacons: []string{caClient.LocalAddr().String()}, PVABeacons: []string{pvaClient.LocalAddr().String()},
	})
	buf := make([]byte, 1024)
	for id := range uint32(4) { // the first beacons follow each other quickly
		var h ca.Header
		n, err := caClient.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ca.ReadFrame(buf[:n], &h, 0); err != nil || h.Command != ca.CmdBeacon {
			t.Fatalf("got header %+v, %v", h, err)
		}
		if b := ca.ParseBeacon(&h, netip.Addr{}); b.ID != id || b.Server != s.Addr() {
			t.Errorf("got beacon %+v, want beacon %d of %v", b, id, s.Addr())
		}
	}
	n, err := pvaClient.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	var h pva.Header
	payload, _, err := pva.ReadFrame(buf[:n], &h, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	r := pva.NewReader(payload, h.Order())
	if b, err := pva.ParseBeacon(&r); err != nil || b.Sequence != 0 || b.Server != s.PVAAddr() || b.Protocol != "tcp" {
		t.Errorf("got beacon %+v, %v", b, err)
	}
}
