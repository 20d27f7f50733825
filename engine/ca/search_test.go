package ca

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/test/testclock"
)

func TestNameThatNobodyServesIsSearchedForWithBackOff(t *testing.T) {
	server := doubles(nameServerAddr)
	server.lacks = map[string]bool{"NOBODY": true}
	bubble(t, func(t *testing.T, n *network, c *Client) {
		c.Subscribe("NOBODY", capture.SubscribeOptions{}, &recorder{})
		testclock.Advance(time.Second)
		if got := server.asked(proto.CmdSearch); got < 4 || got > 8 {
			t.Errorf("%d searches in the first second", got)
		}
		testclock.Advance(10 * time.Minute)
		if got := server.asked(proto.CmdSearch); got < 40 || got > 75 {
			t.Errorf("%d searches in ten minutes, want one in 5 s at first, in the end in 37 s", got)
		}
	}, server)
}

// listen returns a UDP socket of a server, for scripted answers.
func listen(t *testing.T) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestDatagramsCarryManyNamesAndAnAnswerMustBeToOne(t *testing.T) {
	server := listen(t)
	c := newClient(t, Config{AddrList: []string{server.LocalAddr().String()}})
	sinks := make([]recorder, 30)
	subscribeAll(c, sinks)
	buf := make([]byte, 1<<16)
	seen := map[uint32]bool{}
	var sequence uint32
	datagrams := 0
	for ; len(seen) < len(sinks); datagrams++ {
		n, from, err := server.ReadFromUDPAddrPort(buf)
		if err != nil {
			t.Fatal(err)
		}
		for b := buf[:n]; len(b) > 0; {
			var h proto.Header
			_, used, err := proto.ReadFrame(b, &h, 1400)
			if err != nil {
				t.Fatal(err)
			}
			if seq, ok := proto.Sequence(&h); ok {
				sequence = seq
			} else {
				seen[h.P1] = true
			}
			b = b[used:]
		}
		stale := proto.AppendSearchReply(proto.AppendUDPVersion(nil, sequence+1000), from, 1)
		garbage := proto.AppendSearchReply(proto.AppendHeader(nil, proto.Header{Size: 4000}), from, 1)
		for _, answer := range [][]byte{stale, garbage, {1}, nil} {
			if _, err := server.WriteToUDPAddrPort(answer, from); err != nil {
				t.Fatal(err)
			}
		}
	}
	if datagrams > 8 {
		t.Errorf("%d datagrams for %d names", datagrams, len(sinks))
	}
	if c.mu.Lock(); len(c.circuits) > 0 {
		t.Error("an answer to nobody was taken")
	}
	c.mu.Unlock()
}

func TestNewsHastenTheSearchAndNoMoreThanThat(t *testing.T) {
	server := doubles(nameServerAddr)
	server.silent.Store(true)
	bubble(t, func(t *testing.T, n *network, c *Client) {
		const (
			names       = 20_000
			steadyNames = 2000 // a second, of the search
		)
		for i := range names {
			c.Subscribe(fmt.Sprintf("NOBODY:%d", i), capture.SubscribeOptions{}, &recorder{})
		}
		searches := func(d time.Duration, each func()) float64 {
			before := server.asked(proto.CmdSearch)
			for range int(d / time.Second) {
				each()
				testclock.Advance(time.Second)
			}
			return float64(server.asked(proto.CmdSearch)-before) / d.Seconds()
		}
		first := searches(2*time.Second, func() {})
		searches(time.Minute, func() {})
		rest := searches(time.Minute, func() {})
		sweep := searches(3*time.Second, sync.OnceFunc(c.heard))
		storm := searches(time.Minute, c.heard)
		t.Logf("names a second: %.0f at first, %.0f later, %.0f after news, %.0f in a storm of news", first, rest, sweep, storm)
		if rest > 1.2*steadyNames {
			t.Errorf("%.0f searches a second of names that nobody serves", rest)
		}
		if sweep < names/3 {
			t.Errorf("%.0f searches a second after news: not all names had their turn", sweep)
		}
		if storm > 7*steadyNames/2 {
			t.Errorf("%.0f searches a second in a storm of news", storm)
		}
	}, server)
}
