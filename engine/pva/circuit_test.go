package pva

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

var orders = map[string]proto.Flags{"little-endian": 0, "big-endian": proto.FlagBig}

func TestUpdatesOfEitherByteOrder(t *testing.T) {
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			server := doubles(nameServerAddr)
			server.order = order
			bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
				r := &recorder{}
				c.Subscribe("PV", capture.SubscribeOptions{}, r)
				testclock.Advance(time.Second)
				s := server.last()
				s.write(s.update(s.subs[0], []int{fieldValue, fieldSeverity, fieldMessage, fieldSeconds, fieldNanos},
					8.5, 2, "HIHI", int64(seconds+1), 1_500_000_000))
				s.write(s.update(s.subs[0], []int{fieldNanos}, 5))
				synctest.Wait()
				at := int64(seconds) * 1e9
				want := []sample.Sample{
					{Time: at, Word: math.Float64bits(7)},
					{Time: at + 2_500_000_000, Word: math.Float64bits(8.5), Tag: sample.MakeTag(sample.Major, 3)},
					{Time: at + 1_000_000_005, Word: math.Float64bits(8.5), Tag: sample.MakeTag(sample.Major, 3)},
				}
				if diff := cmp.Diff(want, r.Samples); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if m := r.Meta; m.Units != "mA" || m.Precision != 3 || m.DisplayLow != -1 || m.DisplayHigh != 1 || !math.IsNaN(m.AlarmHigh) {
					t.Errorf("got metadata %+v", m)
				}
			}, server)
		})
	}
}

func TestChannelComesBackAfterItsServer(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		loss := clienttest.Loss{Server: nameServerAddr, Value: math.Float64bits(7), Cause: client.ErrServerClosed.Error(), Within: time.Second}
		loss.Check(t, c, func() { server.last().conn.Close() })
	}, server)
}

func TestLostServerIsProbedUntilItIsBack(t *testing.T) {
	const channels = 2000
	names, server := doubles(nameServerAddr), doubles(otherAddr)
	names.redirect, server.guid = map[string]string{}, proto.GUID{2}
	var pvs []string
	for i := range channels {
		pvs = append(pvs, fmt.Sprint("PV", i))
		names.redirect[pvs[i]] = otherAddr
	}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		sinks := make([]recorder, channels)
		for i := range sinks {
			c.Subscribe(pvs[i], capture.SubscribeOptions{}, &sinks[i])
		}
		testclock.Advance(time.Minute)
		n.Stop(server)
		names.override = func(*session, *proto.Header, []byte) bool { return true } // searches do not find the server
		for i := range sinks {
			names.forgetName(pvs[i])
		}
		before := n.Dials(otherAddr)
		testclock.Advance(10 * time.Minute)
		if dials := n.Dials(otherAddr) - before; dials < 130 || dials > 280 {
			t.Errorf("%d probes in 10 minutes for %d channels", dials, channels)
		}
		n.Start(server)
		testclock.Advance(15 * time.Second)
		for i := range sinks {
			if !sinks[i].View(func(r *recorder) bool { return r.Up && r.Connects == 2 }) {
				t.Fatalf("channel %d got calls %v", i, sinks[i].Calls())
			}
		}
		before = n.Dials(otherAddr)
		testclock.Advance(time.Minute)
		if dials := n.Dials(otherAddr) - before; dials > 0 {
			t.Errorf("%d probes of a server that has returned", dials)
		}
	}, names, server)
}

// forgetName makes a name server forget the address of a name.
func (s *script) forgetName(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.redirect, name)
}

func TestChannelsOfAServerShareACircuit(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		clienttest.CheckCircuitIsShared(t, n, c, nameServerAddr)
		shared := c.kernel.Circuit(netip.MustParseAddrPort(nameServerAddr)).(*circuit)
		if len(shared.layouts) != 1 {
			t.Errorf("the circuit has %d layouts of one type", len(shared.layouts))
		}
	}, server)
}

func TestSilentServerIsProbedAndDropped(t *testing.T) {
	server := doubles(nameServerAddr)
	var silent atomic.Bool
	server.override = func(*session, *proto.Header, []byte) bool { return silent.Load() }
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(10 * client.DefaultConnTimeout)
		if echoes := server.count(proto.CmdEcho); echoes < 18 || echoes > 21 || len(r.Calls()) != 2 {
			t.Errorf("idle server that answers: %d ECHOs, calls %v", echoes, r.Calls())
		}
		silent.Store(true)
		testclock.Advance(client.DefaultConnTimeout + time.Second)
		log := r.Calls()
		if len(log) < 4 || log[2] != "suspect 30s" || log[3] != "disconnected: lost 10.0.0.1:5075: "+errSilent.Error() {
			t.Errorf("silent server: calls %v", log)
		}
	}, server)
}

func TestServerThatNeverAcceptsTheLoginIsDropped(t *testing.T) {
	server := doubles(nameServerAddr)
	server.override = func(*session, *proto.Header, []byte) bool { return true }
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		c.Subscribe("PV", capture.SubscribeOptions{}, &recorder{})
		testclock.Advance(10 * time.Minute)
		if got := server.circuits(); got < 50 || got > 130 {
			t.Errorf("the client opened %d circuits in 10 minutes", got)
		}
		if server.count(proto.CmdSearch)+server.count(proto.CmdCreateChannel) > 0 {
			t.Error("the server got requests before it accepted the login")
		}
	}, server)
}

func TestLoginUsesAMethodOfTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		methods []string
		want    proto.Login
	}{
		"ca":        {[]string{"x509", "ca", "anonymous"}, proto.Login{ReceiveBuffer: 1 << 16, Registry: 1<<15 - 1, Method: "ca", User: "u", Host: "h"}},
		"anonymous": {[]string{"anonymous"}, proto.Login{ReceiveBuffer: 1 << 16, Registry: 1<<15 - 1, Method: "anonymous"}},
		"none":      {nil, proto.Login{ReceiveBuffer: 1 << 16, Registry: 1<<15 - 1, Method: "anonymous"}},
		"unknown":   {[]string{"x509"}, proto.Login{}},
	} {
		t.Run(name, func(t *testing.T) {
			server := doubles(nameServerAddr)
			server.methods = c.methods
			bubble(t, func(t *testing.T, n *clienttest.Network, _ *Client) {
				testclock.Advance(time.Second)
				if diff := cmp.Diff(c.want, server.login); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}, server)
		})
	}
}

func TestGarbageServerHarmsItsOwnChannelsOnly(t *testing.T) {
	server := proto.FlagServer
	for name, greet := range map[string][]byte{
		"text":   []byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"),
		"client": proto.AppendHeader(nil, proto.Header{Version: 2, Command: proto.CmdEcho}),
		"huge":   proto.AppendHeader(nil, proto.Header{Version: 2, Flags: server, Command: proto.CmdConnectionValidate, Size: 1 << 31}),
		"segments": proto.AppendHeader(nil, proto.Header{
			Version: 2, Flags: server | proto.FlagLast, Command: proto.CmdMonitor, Size: 0,
		}),
		"short": proto.AppendHeader(nil, proto.Header{Version: 2, Flags: server, Command: proto.CmdCreateChannel, Size: 0}),
	} {
		t.Run(name, func(t *testing.T) {
			names, garbage := doubles(nameServerAddr), doubles(otherAddr)
			names.redirect = map[string]string{"BAD": otherAddr}
			garbage.greet = append(greet, make([]byte, 5)...)
			bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
				clienttest.CheckGarbage(t, n, c, otherAddr)
			}, names, garbage)
		})
	}
}

func TestFramesMayBeCutAnywhere(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		want := []float64{7}
		for i := range 10 {
			for _, b := range s.update(s.subs[0], []int{fieldValue}, float64(i)) {
				s.write([]byte{b})
			}
			want = append(want, float64(i))
		}
		synctest.Wait()
		if diff := cmp.Diff(want, r.Floats()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, server)
}

// segment cuts a message into frames with payloads of n bytes.
func segment(message []byte, n int) (frames [][]byte) {
	var h proto.Header
	payload, _, _ := proto.ReadFrame(message, &h, math.MaxUint32)
	parts := slices.Collect(slices.Chunk(payload, n))
	for i, p := range parts {
		f := h
		f.Size = uint32(len(p))
		switch i {
		case 0:
			f.Flags |= proto.FlagFirst
		case len(parts) - 1:
			f.Flags |= proto.FlagLast
		default:
			f.Flags |= proto.FlagFirst | proto.FlagLast
		}
		frames = append(frames, append(proto.AppendHeader(nil, f), p...))
	}
	return frames
}

func TestSegmentsAreJoined(t *testing.T) {
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			server := doubles(nameServerAddr)
			server.order = order
			bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
				r := &recorder{}
				c.Subscribe("PV", capture.SubscribeOptions{}, r)
				testclock.Advance(time.Second)
				s := server.last()
				for size := 1; size < 9; size++ {
					for _, frame := range segment(s.update(s.subs[0], []int{fieldValue}, float64(size)), size) {
						s.write(frame)
						s.write(proto.AppendControl(nil, proto.SetMarker, s.flags(), 5)) // a control message may come anywhere
					}
				}
				synctest.Wait()
				if diff := cmp.Diff([]float64{7, 1, 2, 3, 4, 5, 6, 7, 8}, r.Floats()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}, server)
		})
	}
}

func TestFrameThatDoesNotEndEndsTheCircuit(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		s.write(proto.AppendHeader(nil, proto.Header{
			Version: proto.Version, Flags: proto.FlagServer, Command: proto.CmdMonitor, Size: 2 << 30,
		}))
		for i := range 60 {
			if server.last() == s {
				s.write(s.update(s.subs[0], []int{1}, float64(i)))
			}
			testclock.Advance(time.Second)
		}
		if got := server.circuits(); got != 2 || !r.Up {
			t.Errorf("%d circuits, calls %v", got, r.Calls())
		}
		if !slices.Contains(r.Calls(), "suspect 31s") { // the client read 31 s of updates as payload
			t.Errorf("no possible loss is reported: %v", r.Calls())
		}
	}, server)
}

func TestValueThatIsTooLargeIsSkipped(t *testing.T) {
	arrays := proto.NewStruct("epics:nt/NTScalarArray:1.0", "value", proto.Of(proto.Float64|proto.Array), "timeStamp", timeType)
	whole := func(n int) []any { return []any{make([]float64, n), int64(seconds), 0, 0} }
	for name, cut := range map[string]int{"in one frame": 1 << 30, "in large segments": 100_000, "in small segments": 3000} {
		t.Run(name, func(t *testing.T) {
			server := doubles(nameServerAddr)
			server.typ, server.first = arrays, whole(5)
			synctest.Test(t, func(t *testing.T) {
				n := clienttest.NewNetwork(server)
				config := config(n)
				config.MaxArrayBytes = client.MinArrayBytes
				c := clienttest.Start(t, New, config)
				r := &recorder{}
				c.Subscribe("PV", capture.SubscribeOptions{}, r)
				testclock.Advance(time.Second)
				s := server.last()
				for range 3 {
					message := s.update(s.subs[0], []int{1}, make([]float64, 1<<17))
					frames := [][]byte{message}
					if cut < len(message) {
						frames = segment(message, cut)
					}
					for _, f := range frames {
						s.write(f)
					}
					synctest.Wait()
				}
				// The server sends only the time. The value of the update is unknown until the
				// server sends all fields again.
				s.write(s.update(s.subs[0], []int{3}, int64(seconds+1)))
				synctest.Wait()
				var sizes []int
				for _, s := range r.Samples {
					sizes = append(sizes, len(s.Bytes)/8)
				}
				if diff := cmp.Diff([]int{5, 5}, sizes); diff != "" || r.Drops[sample.TooLarge] != 4 || server.circuits() != 1 {
					t.Errorf("%d dropped updates, calls %v, sizes (-want +got):\n%s", r.Drops[sample.TooLarge], r.Calls(), diff)
				}
			})
		})
	}
}

func TestLossIsSuspectedWhenTheCircuitEndsInAFrame(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Minute)
		s := server.last()
		update := s.update(s.subs[0], []int{fieldValue}, 8.0)
		s.write(update[:len(update)-3])
		testclock.Advance(2 * time.Second)
		s.conn.Close()
		testclock.Advance(time.Second)
		if diff := cmp.Diff([]float64{7, 7}, r.Floats()); diff != "" || r.Connects != 2 {
			t.Errorf("calls %v, values (-want +got):\n%s", r.Calls(), diff)
		}
		if !slices.Contains(r.Calls(), "suspect 2s") { // updates after the incomplete frame may be lost
			t.Errorf("no possible loss is reported: %v", r.Calls())
		}
	}, server)
}

func TestLossIsSuspectedWhenTheCircuitEndsInAMessage(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Minute)
		s := server.last()
		segments := segment(s.update(s.subs[0], []int{fieldValue}, 8.0), 6)
		for _, part := range segments[:2] {
			s.write(part)
			testclock.Advance(2 * time.Second)
		}
		s.conn.Close()
		testclock.Advance(time.Second)
		if diff := cmp.Diff([]float64{7, 7}, r.Floats()); diff != "" || !slices.Contains(r.Calls(), "suspect 4s") {
			t.Errorf("calls %v, values (-want +got):\n%s", r.Calls(), diff)
		}
	}, server)
}

// cut is a connection that breaks after a number of bytes.
type cut struct {
	net.Conn
	left int
}

func (c *cut) Read(b []byte) (int, error) {
	if c.left == 0 {
		_ = c.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

func TestCircuitMayBreakAnywhere(t *testing.T) {
	for left := 0; left < 600; left += 5 {
		server := doubles(nameServerAddr)
		synctest.Test(t, func(t *testing.T) {
			n := clienttest.NewNetwork(server)
			config := config(n)
			config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := n.Dial(ctx, network, address)
				if server.circuits() == 1 {
					conn = &cut{Conn: conn, left: left}
				}
				return conn, err
			}
			c := clienttest.Start(t, New, config)
			sinks := make([]recorder, 3)
			clienttest.SubscribeAll(c, sinks)
			testclock.Advance(10 * time.Second)
			for i := range sinks {
				r := &sinks[i]
				if vs := r.Floats(); !r.Up || r.Early > 0 || len(vs) == 0 || len(vs) > r.Connects || server.circuits() > 2 {
					t.Fatalf("cut after %d bytes: got %v, values %v, %d circuits", left, r.Calls(), vs, server.circuits())
				}
			}
		})
	}
}
