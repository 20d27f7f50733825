package wire

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

func TestOutboxGivesBytesInTheOrderTheyWereAdded(t *testing.T) {
	o := NewOutbox(10)
	add := func(s string) bool { return o.Add(func(dst []byte) []byte { return append(dst, s...) }) }
	for _, s := range []string{"one", "two", "three"} {
		if !add(s) {
			t.Fatalf("%s was refused", s)
		}
	}
	if add("four") {
		t.Error("the outbox accepted more than its limit")
	}
	<-o.Wake()
	if got := o.Take(make([]byte, 100)); string(got) != "onetwothree" {
		t.Errorf("took %q", got)
	}
	if !add("five") || string(o.Take(nil)) != "five" || len(o.Take(nil)) != 0 {
		t.Error("the outbox is stuck after it was full")
	}
}

// TestBufferLosesNoByte reads frames of any size. A frame consists of its length in four
// bytes, and as many more bytes.
func TestBufferLosesNoByte(t *testing.T) {
	var stream []byte
	var want []int
	for i := range 200 {
		n := rand.N(1000)
		if i%50 == 7 {
			n = 3*maxBuffer + i
		}
		want = append(want, n)
		stream = append(stream, byte(n), byte(n>>8), byte(n>>16), 0)
		stream = append(stream, bytes.Repeat([]byte{byte(i)}, n)...)
	}
	budget := NewBudget(4 * maxBuffer)
	b := NewBuffer(budget.Open(nil, nil))
	var got []int
	r := bytes.NewReader(stream)
	for {
		n, err := r.Read(b.Free()[:1+rand.N(len(b.Free()))])
		if err == io.EOF {
			break
		}
		unused := b.Filled(n)
		used, need := 0, 0
		for {
			rest := unused[used:]
			if need = 4; len(rest) < need {
				break
			}
			size := int(rest[0]) | int(rest[1])<<8 | int(rest[2])<<16
			if need = 4 + size; len(rest) < need {
				break
			}
			for _, v := range rest[4:need] {
				if v != byte(len(got)) {
					t.Fatalf("frame %d has a byte of another", len(got))
				}
			}
			got = append(got, size)
			used += need
		}
		if _, err := b.Used(used, need, Besides{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != len(want) || b.filled > 0 || len(b.buf) > maxBuffer {
		t.Errorf("%d of %d frames; %d bytes left in a buffer of %d", len(got), len(want), b.filled, len(b.buf))
	}
	if used := budget.Used(); used != len(b.buf)-minBuffer {
		t.Errorf("%d bytes are counted for a buffer of %d", used, len(b.buf))
	}
}

func TestPartialKnowsWhenAFrameBegan(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	var p Partial
	came := func(second, used, rest int, want time.Time) {
		t.Helper()
		if err := p.Came(at(second), used, rest, 2*time.Second); err != nil || !p.Since().Equal(want) {
			t.Errorf("at second %d: since %v, want %v; %v", second, p.Since(), want, err)
		}
	}
	none := time.Time{}
	came(1, 10, 0, none)
	came(2, 10, 3, at(2))
	came(3, 0, 7, at(2))
	came(4, 10, 2, at(4)) // the first bytes of the next frame
	came(5, 10, 0, none)
	p.Skip(10, at(8))
	came(6, 24, 0, at(6))
	came(7, p.Of(4), 0, at(6))
	if n := p.Of(20); n != 6 {
		t.Errorf("skipped %d bytes of 20, want the 6 that are left", n)
	}
	came(9, 20, 0, none)
	came(10, 0, 1, at(10))
	came(12, 0, 2, at(10))
	if err := p.Came(at(13), 0, 3, 2*time.Second); !errors.Is(err, ErrSlow) {
		t.Errorf("a frame that takes too long: %v", err)
	}
	p.Waited(time.Second) // the client did not read
	came(13, 0, 3, at(10))
	p.Skip(10, at(14))
	if err := p.Came(at(15), 24, 0, 0); !errors.Is(err, ErrEndless) {
		t.Errorf("a frame that does not end: %v", err)
	}
}
