package ioc

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"varve.dev/varve/engine/ca/proto"
)

func TestSearchOverUDP(t *testing.T) {
	s := start(t, Config{Channels: 3})
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(s.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	req := proto.AppendUDPVersion(nil, 42)
	req = proto.AppendSearch(req, "SIM:RAMP:0001", 1, proto.DontReply)
	req = proto.AppendSearch(req, "SIM:NONE:0001", 2, proto.DontReply)
	req = proto.AppendSearch(req, "SIM:NONE:0001", 3, proto.DoReply)
	req = proto.AppendSearch(req, "SIM:STRING:0002.VAL", 4, proto.DontReply)
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	for _, b := range [][]byte{{1, 2, 3}, proto.AppendSearch(nil, "SIM:X", 9, proto.DontReply), req} { // the first two get no answer
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 2048)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	got := frames(t, buf[:n])
	if len(got) != 4 {
		t.Fatalf("%d messages, want 4", len(got))
	}
	if seq, ok := proto.Sequence(&got[0].Header); !ok || seq != 42 {
		t.Errorf("sequence %d, %v", seq, ok)
	}
	for i, cid := range []uint32{1, 3, 4} {
		checkSearch(t, got[i+1], cid, s.Addr())
	}
}

// checkSearch checks an answer: NOT_FOUND for 3, or where the server is.
func checkSearch(t *testing.T, m message, want uint32, addr netip.AddrPort) {
	t.Helper()
	if want == 3 {
		if m.Command != proto.CmdNotFound || m.P1 != 3 {
			t.Errorf("got %+v, want NOT_FOUND", m.Header)
		}
		return
	}
	cid, server := proto.ParseSearchReply(&m.Header, netip.MustParseAddr("127.0.0.1"))
	if m.Command != proto.CmdSearch || cid != want || server != addr {
		t.Errorf("%v: channel %d at %v, want %d at %v", m.Command, cid, server, want, addr)
	}
}

func TestSearchOverTCP(t *testing.T) {
	s := start(t, Config{Channels: 3})
	c := dial(t, s)
	req := proto.AppendSearch(nil, "SIM:LONG:0002", 1, proto.DontReply)
	req = proto.AppendSearch(req, "SIM:LONG:0003", 2, proto.DontReply)
	c.send(proto.AppendSearch(req, "SIM:LONG:0003", 3, proto.DoReply))
	checkSearch(t, c.next(), 1, s.Addr())
	checkSearch(t, c.next(), 3, s.Addr())
}

func TestPortInUseSaysSo(t *testing.T) {
	s := start(t, Config{Channels: 1})
	_, err := New(Config{Channels: 1, Listen: s.Addr().String()})
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "the port is in use") ||
		!strings.Contains(err.Error(), s.Addr().String()) {
		t.Errorf("got %v", err)
	}
}

func TestPortIsFreeAgainAfterClose(t *testing.T) {
	s, err := New(Config{Channels: 1, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := New(Config{Channels: 1, Listen: s.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
