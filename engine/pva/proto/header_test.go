package proto

import (
	"errors"
	"testing"
)

func TestFrames(t *testing.T) {
	for _, f := range []Flags{0, FlagBig, FlagServer, FlagServer | FlagBig} {
		b := Begin([]byte("before"), CmdEcho, f)
		b = End(append(b, "payload"...), len("before"))
		frame := append(b[len("before"):], "next"...)
		var h Header
		payload, n, err := ReadFrame(frame, &h, 7)
		if err != nil || string(payload) != "payload" || n != HeaderSize+7 {
			t.Fatalf("flags %x: got payload %q, size %d, %v", f, payload, n, err)
		}
		if (h != Header{Version: Version, Flags: f, Command: CmdEcho, Size: 7}) || h.Order() != f.order() {
			t.Errorf("header is %+v", h)
		}
		if cap(payload) != len(payload) {
			t.Error("appending to the payload writes into the next frame")
		}
		for cut := range n {
			want := HeaderSize
			if cut >= HeaderSize {
				want = n
			}
			if _, need, err := ReadFrame(frame[:cut], &h, 7); !errors.Is(err, ErrShort) || need != want {
				t.Errorf("ReadFrame of %d of %d bytes needs %d, %v", cut, n, need, err)
			}
		}
		if _, skip, err := ReadFrame(frame, &h, 6); !errors.Is(err, ErrTooLarge) || skip != HeaderSize || h.Size != 7 {
			t.Errorf("frame that is too large: n %d, %v, header %+v", skip, err, h)
		}
	}
}

func TestBytesThatAreNoFrame(t *testing.T) {
	for _, b := range []string{"G", "GET / HTTP/1.1\r\n", "\xcb\x02\x00\x02\x00\x00\x00\x00", "\xca\x00", "\xca\x00\x00\x02\x00\x00\x00\x00"} {
		if _, _, err := ReadFrame([]byte(b), new(Header), 1<<20); !errors.Is(err, ErrMagic) {
			t.Errorf("ReadFrame(%q): %v", b, err)
		}
	}
}

// TestControlMessages checks that a control message has no payload. The size field of its
// header holds data instead.
func TestControlMessages(t *testing.T) {
	b := AppendControl(nil, SetByteOrder, FlagServer|FlagBig, 0xffffffff)
	var h Header
	payload, n, err := ReadFrame(b, &h, 0)
	if err != nil || n != HeaderSize || payload != nil || h.Size != 0xffffffff {
		t.Fatalf("got payload %q, size %d, %v, header %+v", payload, n, err, h)
	}
	if c, ok := h.Control(); !ok || c != SetByteOrder {
		t.Errorf("control is %v, %v", c, ok)
	}
	if _, ok := (&Header{Command: CmdEcho}).Control(); ok {
		t.Error("ECHO is a control message")
	}
}

func TestSegments(t *testing.T) {
	for _, c := range []struct {
		flags                  Flags
		first, last, segmented bool
	}{{0, false, false, false}, {0x10, true, false, true}, {0x30, false, false, true}, {0x20, false, true, true}, {0x60, false, true, true}} {
		h := Header{Flags: c.flags}
		if first, last, segmented := h.Segmented(); first != c.first || last != c.last || segmented != c.segmented {
			t.Errorf("flags %x: %v %v %v", c.flags, first, last, segmented)
		}
	}
}

func TestCommandNames(t *testing.T) {
	if CmdMonitor.String() != "MONITOR" || CmdOriginTag.String() != "ORIGIN_TAG" || Command(99).String() != "command(99)" {
		t.Error(CmdMonitor, CmdOriginTag, Command(99))
	}
}
