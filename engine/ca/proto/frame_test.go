package proto

import (
	"errors"
	"testing"
)

func TestFrameIsShortUntilItsLastByte(t *testing.T) {
	for _, msg := range [][]byte{
		AppendCreateChan(nil, "SR01:PRES", 7),
		append(AppendHeader(nil, Header{Command: CmdEventAdd, Size: 1 << 17, Count: 1 << 14}), make([]byte, 1<<17)...),
	} {
		var h Header
		for n := 0; n < len(msg); n += max(1, n/7) {
			_, need, err := ReadFrame(msg[:n], &h, 1<<20)
			if !errors.Is(err, ErrShort) || need <= n || need > len(msg) {
				t.Fatalf("ReadFrame of %d of %d bytes needs %d, %v", n, len(msg), need, err)
			}
		}
		payload, n, err := ReadFrame(append(msg, 1, 2, 3), &h, 1<<20)
		if err != nil || n != len(msg) || len(payload) != int(h.Size) {
			t.Errorf("complete frame: n %d of %d, payload %d of %d, %v", n, len(msg), len(payload), h.Size, err)
		}
	}
}

func TestHeaderIsExtendedOnlyWhenNeeded(t *testing.T) {
	for _, c := range []struct{ size, count, want uint32 }{
		{0, 0, HeaderSize},
		{65528, 65535, HeaderSize},
		{65536, 1, ExtendedHeaderSize},
		{16, 65536, ExtendedHeaderSize},
	} {
		want := Header{Command: CmdReadNotify, Type: 6, Size: c.size, Count: c.count, P1: 1, P2: 1 << 31}
		b := AppendHeader([]byte("prefix"), want)[len("prefix"):]
		if len(b) != int(c.want) {
			t.Errorf("size %d count %d: header of %d bytes, want %d", c.size, c.count, len(b), c.want)
		}
		var got Header
		if _, _, err := ReadFrame(append(b, make([]byte, c.size)...), &got, 1<<20); err != nil || got != want {
			t.Errorf("the header is decoded as %+v, %v; want %+v", got, err, want)
		}
	}
}

func TestFrameThatIsTooLargeReportsItsSize(t *testing.T) {
	b := AppendHeader(nil, Header{Command: CmdEventAdd, Size: 0xfffffff8, Count: 1 << 29, P2: 5})
	var h Header
	_, n, err := ReadFrame(b, &h, 1<<20)
	if !errors.Is(err, ErrTooLarge) || n != ExtendedHeaderSize || h.Size != 0xfffffff8 || h.P2 != 5 {
		t.Errorf("got n %d, header %+v, %v", n, h, err)
	}
}

func TestTextEndsAtItsNUL(t *testing.T) {
	for in, want := range map[string]string{"": "", "\x00": "", "abc\x00def": "abc", "abc": "abc"} {
		if got := string(Text([]byte(in))); got != want {
			t.Errorf("Text(%q) = %q", in, got)
		}
	}
}
