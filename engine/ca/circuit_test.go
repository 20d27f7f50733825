package ca

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// bubble runs a test with one client in a simulated network, with the clock of package
// synctest.
func bubble(t *testing.T, f func(t *testing.T, n *clienttest.Network, c *Client), servers ...*script) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := clienttest.NewNetwork(servers...)
		f(t, n, clienttest.Start(t, New, config(n)))
	})
}

func TestChannelComesBackAfterItsServer(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		loss := clienttest.Loss{Server: nameServerAddr, Value: 7, Cause: client.ErrServerClosed.Error(), Within: time.Second}
		loss.Check(t, c, func() { server.last().conn.Close() })
	}, server)
}

func TestChannelsOfAServerShareACircuit(t *testing.T) {
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		clienttest.CheckCircuitIsShared(t, n, c, nameServerAddr)
	}, doubles(nameServerAddr))
}

func TestSilentServerIsProbedAndDropped(t *testing.T) {
	server := doubles(nameServerAddr)
	var silent atomic.Bool
	server.override = func(*session, *proto.Header, []byte) bool { return silent.Load() }
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(10 * client.DefaultConnTimeout)
		if echoes := server.count(proto.CmdEcho); echoes < 8 || len(r.Calls()) != 2 {
			t.Errorf("idle server that answers: %d ECHOs, calls %v", echoes, r.Calls())
		}
		silent.Store(true)
		testclock.Advance(client.DefaultConnTimeout + echoTimeout + time.Second)
		if log := r.Calls(); len(log) < 3 || log[2] != "disconnected: lost 10.0.0.1:5064: "+errSilent.Error() {
			t.Errorf("silent server: calls %v", log)
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
			bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
				clienttest.CheckGarbage(t, n, c, otherAddr)
			}, names, garbage)
		})
	}
}

func TestServerThatRefusesCircuitsIsDialledSeldom(t *testing.T) {
	names := doubles(nameServerAddr)
	names.redirect = map[string]string{"PV": otherAddr}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		c.Subscribe("PV", capture.SubscribeOptions{}, &recorder{})
		testclock.Advance(10 * time.Minute)
		if dials := n.Dials(otherAddr); dials < 10 || dials > 60 {
			t.Errorf("the client dialled %d times in 10 minutes", dials)
		}
	}, names)
}

func TestFramesMayBeCutAnywhere(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
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
		if diff := cmp.Diff(want, r.Words()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, server)
}

func TestValueThatIsTooLargeIsSkipped(t *testing.T) {
	server := doubles(nameServerAddr)
	synctest.Test(t, func(t *testing.T) {
		n := clienttest.NewNetwork(server)
		config := config(n)
		config.MaxArrayBytes = client.MinArrayBytes
		c := clienttest.Start(t, New, config)
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
		if diff := cmp.Diff([]uint64{7, 0, 1, 2}, r.Words()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if r.Drops[sample.TooLarge] != 3 || len(server.sessions) != 1 {
			t.Errorf("%d dropped updates, calls %v", r.Drops[sample.TooLarge], r.Calls())
		}
	})
}

func TestFrameThatDoesNotEndEndsTheCircuit(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
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
		if got := len(server.sessions); got != 2 || r.Drops[sample.TooLarge] != 1 || !r.Up {
			t.Errorf("%d circuits, calls %v", got, r.Calls())
		}
		if got := r.Suspects(); len(got) != 1 || got[0] != "suspect 31s" { // the client read 31 s of updates as payload
			t.Errorf("suspected losses %v", got)
		}
	}, server)
}

// A server replaces the first update of a channel by a frame of a wrong length. Everything that it
// sends later seems to belong to this frame.
func TestChannelMissesItsFirstUpdatesInAFrameThatDoesNotEnd(t *testing.T) {
	server := doubles(nameServerAddr)
	server.override = func(s *session, h *proto.Header, _ []byte) bool {
		first := h.Command == proto.CmdEventAdd && len(server.sessions) == 1
		if first {
			s.write(proto.AppendHeader(nil, proto.Header{
				Command: proto.CmdEventAdd, Type: uint16(proto.Double.In(proto.TIME)), Size: 2 << 30, Count: 1, P1: 1, P2: 1 << 20,
			}))
		}
		return first
	}
	bubble(t, func(t *testing.T, _ *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(2 * time.Second)
		server.last().conn.Close()
		testclock.Advance(time.Minute)
		if got := r.Suspects(); len(got) != 1 || !r.Up || len(r.Samples) != 1 {
			t.Errorf("suspected losses %v, calls %v", got, r.Calls())
		}
	}, server)
}

func TestArrayLargerThanTheReadBufferIsDelivered(t *testing.T) {
	server := doubles(nameServerAddr)
	server.elements = 1 << 17
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
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
		for _, s := range r.Samples {
			sizes = append(sizes, len(s.Bytes))
		}
		if diff := cmp.Diff([]int{0, 1 << 20, 8, 0, 3 << 18}, sizes); diff != "" || r.Info.Type != sample.Float64.Array() {
			t.Errorf("type %v, sizes (-want +got):\n%s", r.Info.Type, diff)
		}
	}, server)
}

func TestUpdateThatDoesNotDecodeIsCounted(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		event := proto.Header{Command: proto.CmdEventAdd, Type: uint16(proto.Double.In(proto.TIME)), Count: 1, P1: 1, P2: s.subs[0]}
		short, failed, unknown, ended := event, event, event, event
		short.Size = 8
		failed.P1, failed.Size = uint32(proto.StatusGetFail), 24 // the value is zero
		unknown.P2 = 1 << 30
		ended.Count = 0
		s.write(append(proto.AppendHeader(nil, short), make([]byte, 8)...))
		s.write(append(proto.AppendHeader(nil, failed), make([]byte, 24)...))
		s.write(proto.AppendHeader(nil, unknown))
		s.write(proto.AppendHeader(nil, ended))
		s.write(s.update(8, s.subs[0]))
		synctest.Wait()
		if got := r.Drops[sample.Malformed]; got != 2 {
			t.Errorf("%d dropped updates, want 2: the short one and the failed one", got)
		}
		if diff := cmp.Diff([]uint64{7, 8}, r.Words()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, server)
}
