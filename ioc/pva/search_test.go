package pva

import (
	"net/netip"
	"slices"
	"testing"

	"varve.dev/varve/engine/pva/proto"
)

// search returns a SEARCH for channels. The ID of each channel is its position in names.
func search(flags uint8, replyTo netip.AddrPort, f proto.Flags, names ...string) []byte {
	b := proto.AppendSearchHead(nil, 42, flags, replyTo, f)
	h := proto.Header{Flags: f}
	for cid, name := range names {
		b = proto.AppendSearchChannel(b, uint32(cid), name, h.Order())
	}
	return proto.FinishSearch(b, 0, len(names))
}

// parseFound parses the answer to a SEARCH.
func parseFound(t *testing.T, s *Server, b []byte) proto.SearchResponse {
	t.Helper()
	var h proto.Header
	payload, n, err := proto.ReadFrame(b, &h, 1<<16)
	if err != nil || h.Command != proto.CmdSearchResponse || n != len(b) {
		t.Fatalf("got header %+v in %d of %d bytes, %v", h, n, len(b), err)
	}
	r := proto.NewReader(payload, h.Order())
	a, err := proto.ParseSearchResponse(&r)
	if err != nil || a.Sequence != 42 || a.Server != s.addr || a.GUID != s.guid || a.Protocol != "tcp" {
		t.Errorf("got answer %+v, %v", a, err)
	}
	return a
}

func TestSearchByDatagram(t *testing.T) {
	s, from := offline(t, config{channels: 3}), netip.MustParseAddrPort("127.0.0.1:40000")
	nobody := netip.AddrPort{}
	names := []string{"SIM:RAMP:0001", "SIM:NONE:0001", "SIM:STRING:0002.VAL"}
	for what, c := range map[string]struct {
		req  []byte
		to   netip.AddrPort
		cids []uint32
	}{
		"little":                  {search(0, nobody, 0, names...), from, []uint32{0, 2}},
		"big":                     {search(0, nobody, proto.FlagBig, names...), from, []uint32{0, 2}},
		"another port":            {search(0, netip.MustParseAddrPort("0.0.0.0:5000"), 0, names...), netip.MustParseAddrPort("127.0.0.1:5000"), []uint32{0, 2}},
		"another host":            {search(0, netip.MustParseAddrPort("127.0.0.2:5000"), 0, names...), netip.MustParseAddrPort("127.0.0.2:5000"), []uint32{0, 2}},
		"none, but an answer":     {search(proto.SearchReply, nobody, 0, names[1]), from, nil},
		"a search for any server": {search(proto.SearchReply, nobody, 0), from, nil},
	} {
		out, to := s.AppendAnswer(nil, c.req, from)
		if a := parseFound(t, s, out); to != c.to || !slices.Equal(a.CIDs, c.cids) || a.Found != (len(c.cids) > 0) {
			t.Errorf("%s: answer %+v goes to %v, want channels %v to %v", what, a, to, c.cids, c.to)
		}
	}
	udp := []byte(string(search(0, nobody, 0, names...)))
	copy(udp[slices.Index(udp, 't'):], "udp")
	for _, b := range [][]byte{{1, 2, 3}, search(0, nobody, 0, names[1]), search(0, nobody, 0, names...)[:60], udp} {
		if out, _ := s.AppendAnswer(nil, b, from); len(out) != 0 {
			t.Errorf("the answer to %x is %x", b, out)
		}
	}
}

func TestSearchOverTCP(t *testing.T) {
	s := offline(t, config{channels: 3})
	c := connect(t, s, 0, 0)
	c.send(search(0, netip.AddrPort{}, 0, "SIM:LONG:0003"))
	c.send(search(0, netip.AddrPort{}, 0, "SIM:LONG:0003", "SIM:LONG:0002"))
	m := c.want(proto.CmdSearchResponse)
	if a := parseFound(t, s, append(proto.AppendHeader(nil, m.Header), m.payload...)); !slices.Equal(a.CIDs, []uint32{1}) {
		t.Errorf("got answer %+v", a)
	}
}
