package proto

import (
	"net/netip"
	"testing"
)

func TestSearchReplyNamesTheServer(t *testing.T) {
	from := netip.MustParseAddr("10.0.0.9")
	for _, c := range []struct{ server, want string }{
		{"10.0.0.5:5064", "10.0.0.5:5064"},
		{"0.0.0.0:5070", "10.0.0.9:5070"},
		{"[::1]:5070", "10.0.0.9:5070"},
	} {
		var h Header
		if _, _, err := ReadFrame(AppendSearchReply(nil, netip.MustParseAddrPort(c.server), 7), &h, 64); err != nil {
			t.Fatal(err)
		}
		cid, server := ParseSearchReply(&h, from)
		if cid != 7 || server.String() != c.want {
			t.Errorf("answer for %s: got cid %d at %v, want %s", c.server, cid, server, c.want)
		}
	}
}

func TestSequenceOfADatagram(t *testing.T) {
	var h Header
	for _, c := range []struct {
		msg []byte
		ok  bool
	}{{AppendUDPVersion(nil, 77), true}, {AppendVersion(nil, 0), false}} {
		if _, _, err := ReadFrame(c.msg, &h, 64); err != nil {
			t.Fatal(err)
		}
		if seq, ok := Sequence(&h); ok != c.ok || ok && seq != 77 {
			t.Errorf("message %x: got sequence %d, %v", c.msg, seq, ok)
		}
	}
}

func TestSearchSizeIsTheAppendedSize(t *testing.T) {
	for _, name := range []string{"", "1234567", "12345678", "a long name of a channel"} {
		if got := len(AppendSearch(nil, name, 1, DoReply)); got != SearchSize(len(name)) {
			t.Errorf("a search for %q has %d bytes, but SearchSize is %d", name, got, SearchSize(len(name)))
		}
	}
}
