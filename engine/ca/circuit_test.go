package ca

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// bubble runs a test with one client of a network, under synctest's clock.
func bubble(t *testing.T, f func(t *testing.T, n *network, c *Client), servers ...*script) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(servers...)
		c, stop := start(t, n.config())
		defer stop()
		f(t, n, c)
	})
}

func TestChannelComesBackAfterItsServer(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Minute)
		server.last().conn.Close()
		testclock.Advance(time.Second)
		want := []string{
			"connected float64", "metadata mA", "disconnected: losing 10.0.0.1:5064: the server closed the circuit",
			"connected float64", "metadata mA",
		}
		if diff := cmp.Diff(want, told(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]uint64{7, 7}, words(r)); diff != "" || r.early > 0 {
			t.Errorf("values (-want +got):\n%s, %d while not connected", diff, r.early)
		}
	}, server)
}

func TestChannelsOfAServerShareACircuit(t *testing.T) {
	bubble(t, func(t *testing.T, n *network, c *Client) {
		sinks := make([]recorder, 3000)
		for i := range sinks {
			c.Subscribe("PV", capture.SubscribeOptions{}, &sinks[i])
		}
		testclock.Advance(10 * time.Second)
		for i := range sinks {
			if len(words(&sinks[i])) != 1 {
				t.Fatalf("channel %d has %v", i, told(&sinks[i]))
			}
		}
		if n.dials[nameServerAddr] != 1 {
			t.Errorf("%d circuits", n.dials[nameServerAddr])
		}
	}, doubles(nameServerAddr))
}

func TestSilentServerIsProbedAndDropped(t *testing.T) {
	server := doubles(nameServerAddr)
	var silent atomic.Bool
	server.override = func(*session, *proto.Header, []byte) bool { return silent.Load() }
	bubble(t, func(t *testing.T, n *network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(10 * DefaultConnTimeout)
		if echoes := server.asked(proto.CmdEcho); echoes < 8 || len(told(r)) != 2 {
			t.Errorf("of an idle server that answers: %d ECHOs, %v", echoes, told(r))
		}
		silent.Store(true)
		testclock.Advance(DefaultConnTimeout + echoTimeout + time.Second)
		if log := told(r); len(log) < 3 || log[2] != "disconnected: losing 10.0.0.1:5064: "+errSilent.Error() {
			t.Errorf("of a silent server: %v", log)
		}
	}, server)
}

func TestGarbageServerHarmsItsOwnChannelsOnly(t *testing.T) {
	for name, greet := range map[string][]byte{
		"text":      []byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"),
		"unaligned": proto.AppendHeader(nil, proto.Header{Command: proto.CmdEventAdd, Size: 3}),
		"huge":      proto.AppendHeader(nil, proto.Header{Command: proto.CmdVersion, Size: 1 << 31}),
	} {
		t.Run(name, func(t *testing.T) {
			names, garbage := doubles(nameServerAddr), doubles(otherAddr)
			names.redirect = map[string]string{"BAD": otherAddr}
			garbage.greet = append(greet, make([]byte, 3)...)
			bubble(t, func(t *testing.T, n *network, c *Client) {
				good, bad := &recorder{}, &recorder{}
				c.Subscribe("GOOD", capture.SubscribeOptions{}, good)
				c.Subscribe("BAD", capture.SubscribeOptions{}, bad)
				testclock.Advance(10 * time.Minute)
				if log := told(bad); len(log) > 0 {
					t.Errorf("the garbage server's channel was told %v", log)
				}
				if len(told(good)) != 2 || len(words(good)) != 1 {
					t.Errorf("the other channel was told %v", told(good))
				}
				if dials := n.dials[otherAddr]; dials < 10 || dials > 60 {
					t.Errorf("%d circuits in 10 minutes, want a back-off to about 30 s", dials)
				}
			}, names, garbage)
		})
	}
}

func TestServerThatRefusesCircuitsIsLeftAlone(t *testing.T) {
	names := doubles(nameServerAddr)
	names.redirect = map[string]string{"PV": otherAddr}
	bubble(t, func(t *testing.T, n *network, c *Client) {
		c.Subscribe("PV", capture.SubscribeOptions{}, &recorder{})
		testclock.Advance(10 * time.Minute)
		if dials := n.dials[otherAddr]; dials < 10 || dials > 60 {
			t.Errorf("%d dials in 10 minutes", dials)
		}
	}, names)
}

func TestFramesCutAnywhere(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		want := []uint64{7}
		for i := range uint64(10) {
			for _, b := range s.update(i, s.subs[0]) {
				s.write([]byte{b})
			}
			want = append(want, i)
		}
		synctest.Wait()
		if diff := cmp.Diff(want, words(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, server)
}

func TestValueThatIsTooLargeIsSkipped(t *testing.T) {
	server := doubles(nameServerAddr)
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(server)
		config := n.config()
		config.MaxArrayBytes = minArrayBytes
		c, stop := start(t, config)
		defer stop()
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		huge := sample.Sample{Bytes: make([]byte, 1<<20)}
		for i := range uint64(3) {
			s.write(proto.AppendEvent(nil, proto.Double.In(proto.TIME), true, &huge, nil, s.subs[0]))
			s.write(s.update(i, s.subs[0]))
		}
		synctest.Wait()
		if diff := cmp.Diff([]uint64{7, 0, 1, 2}, words(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if r.dropped[sample.TooLarge] != 3 || len(n.servers[nameServerAddr].sessions) != 1 {
			t.Errorf("dropped %d, %v", r.dropped[sample.TooLarge], told(r))
		}
	})
}

func TestFrameThatDoesNotEndEndsTheCircuit(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		s.write(proto.AppendHeader(nil, proto.Header{
			Command: proto.CmdEventAdd, Type: uint16(proto.Double.In(proto.TIME)), Size: 2 << 30, Count: 1, P1: 1, P2: s.subs[0],
		}))
		for i := range uint64(60) {
			if server.last() == s {
				s.write(s.update(i, s.subs[0]))
			}
			testclock.Advance(time.Second)
		}
		if got := len(server.sessions); got != 2 || r.dropped[sample.TooLarge] != 1 || !r.up {
			t.Errorf("%d circuits, %v", got, told(r))
		}
		if got := suspects(r); len(got) != 1 || got[0] != "suspect 31s" { // what was taken for its payload
			t.Errorf("suspects %v", got)
		}
	}, server)
}

func TestArrayLargerThanTheReadBufferIsDelivered(t *testing.T) {
	server := doubles(nameServerAddr)
	server.count = 1 << 17
	bubble(t, func(t *testing.T, n *network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		for _, n := range []int{1 << 20, 8, 0, 3 << 18} {
			v := sample.Sample{Time: proto.EpicsEpoch * 1e9, Bytes: make([]byte, n)}
			s.write(proto.AppendEvent(nil, proto.Double.In(proto.TIME), true, &v, nil, s.subs[0]))
		}
		synctest.Wait()
		var sizes []int
		for _, s := range r.samples {
			sizes = append(sizes, len(s.Bytes))
		}
		if diff := cmp.Diff([]int{0, 1 << 20, 8, 0, 3 << 18}, sizes); diff != "" || r.info.Type != sample.Float64.Array() {
			t.Errorf("%v, sizes (-want +got):\n%s", r.info.Type, diff)
		}
	}, server)
}

func TestUpdateThatDoesNotDecodeIsCounted(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		event := proto.Header{Command: proto.CmdEventAdd, Type: uint16(proto.Double.In(proto.TIME)), Count: 1, P1: 1, P2: s.subs[0]}
		short, failed, unknown, ended := event, event, event, event
		short.Size = 8
		failed.P1 = uint32(proto.StatusGetFail)
		unknown.P2 = 1 << 30
		ended.Count = 0
		s.write(append(proto.AppendHeader(nil, short), make([]byte, 8)...))
		s.write(proto.AppendHeader(nil, failed))
		s.write(proto.AppendHeader(nil, unknown))
		s.write(proto.AppendHeader(nil, ended))
		s.write(s.update(8, s.subs[0]))
		synctest.Wait()
		if got := r.dropped[sample.Malformed]; got != 2 {
			t.Errorf("%d updates counted, want the short one and the failed one", got)
		}
		if diff := cmp.Diff([]uint64{7, 8}, words(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, server)
}
