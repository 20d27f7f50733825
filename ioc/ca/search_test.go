package ca

import (
	"net/netip"
	"testing"

	"varve.dev/varve/engine/ca/proto"
)

func TestSearchByDatagram(t *testing.T) {
	s, client := offline(t, config{channels: 3}), netip.MustParseAddrPort("127.0.0.1:40000")
	req := proto.AppendUDPVersion(nil, 42)
	req = proto.AppendSearch(req, "SIM:RAMP:0001", 1, proto.DontReply)
	req = proto.AppendSearch(req, "SIM:NONE:0001", 2, proto.DontReply)
	req = proto.AppendSearch(req, "SIM:NONE:0001", 3, proto.DoReply)
	req = proto.AppendSearch(req, "SIM:STRING:0002.VAL", 4, proto.DontReply)
	for _, b := range [][]byte{{1, 2, 3}, proto.AppendSearch(nil, "SIM:X", 9, proto.DontReply)} {
		if out, _ := s.AppendAnswer(nil, b, client); len(out) != 0 {
			t.Errorf("the answer to %x is %x", b, out)
		}
	}
	out, to := s.AppendAnswer(nil, req, client)
	got := frames(t, out)
	if len(got) != 4 || to != client {
		t.Fatalf("the answer has %d messages for %v, want 4", len(got), to)
	}
	if seq, ok := proto.Sequence(&got[0].Header); !ok || seq != 42 {
		t.Errorf("the answer has sequence %d, %v", seq, ok)
	}
	for i, cid := range []uint32{1, 3, 4} {
		checkSearch(t, got[i+1], cid, s.Addr)
	}
}

// checkSearch checks an answer to a search. It must be NOT_FOUND for channel 3, and the
// address of the server for any other channel.
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
		t.Errorf("%v: got channel %d at %v, want %d at %v", m.Command, cid, server, want, addr)
	}
}

func TestSearchOverTCP(t *testing.T) {
	s := offline(t, config{channels: 3})
	c := dial(t, s)
	req := proto.AppendSearch(nil, "SIM:LONG:0002", 1, proto.DontReply)
	req = proto.AppendSearch(req, "SIM:LONG:0003", 2, proto.DontReply)
	c.send(proto.AppendSearch(req, "SIM:LONG:0003", 3, proto.DoReply))
	checkSearch(t, c.next(), 1, s.Addr)
	checkSearch(t, c.next(), 3, s.Addr)
}
