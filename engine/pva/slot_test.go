package pva

import (
	"math"
	"strings"
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

func TestChannelThatTheServerDeletesIsSearchedForAgain(t *testing.T) {
	refusal := proto.Status{Kind: proto.Error, Message: "not any more"}
	final := func(s proto.Status) []byte {
		b := proto.BeginAnswer(nil, proto.CmdMonitor, proto.Answer{IOID: 0, Sub: proto.SubDestroy}, proto.FlagServer)
		return proto.End(proto.AppendStatus(b, s, proto.LittleEndian), 0)
	}
	for name, c := range map[string]struct {
		sends []byte
		cause string
	}{
		"deleted":       {proto.AppendDestroyChannel(nil, 100, 0, proto.FlagServer), errDeleted.Error()},
		"monitor ended": {final(proto.Status{}), errEnded.Error()},
		"monitor fails": {final(refusal), "not any more"},
	} {
		t.Run(name, func(t *testing.T) {
			server := doubles(nameServerAddr)
			bubble(t, func(t *testing.T, n *clienttest.Network, client *Client) {
				loss := clienttest.Loss{Server: nameServerAddr, Value: math.Float64bits(7), Cause: c.cause, Within: 10 * time.Second}
				loss.Check(t, client, func() { server.last().write(c.sends) })
				if server.circuits() != 1 {
					t.Errorf("%d circuits, want 1 that stays open", server.circuits())
				}
			}, server)
		})
	}
}

func TestLastUpdateOfAMonitorIsDelivered(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, client *Client) {
		r := &recorder{}
		client.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Minute)
		s := server.last()
		b := proto.BeginAnswer(nil, proto.CmdMonitor, proto.Answer{IOID: s.subs[0], Sub: proto.SubDestroy}, s.flags())
		b = proto.AppendStatus(b, proto.Status{}, proto.LittleEndian)
		b = appendValues(proto.AppendBitSet(b, bitSet([]int{fieldValue}), false), false, 8.0)
		s.write(proto.End(proto.AppendBitSet(b, nil, false), 0))
		synctest.Wait()
		if diff := cmp.Diff([]float64{7, 8}, r.Floats()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, server)
}

func TestChannelThatIsRefusedIsTriedAgainWithBackOff(t *testing.T) {
	refusal := proto.Status{Kind: proto.Error, Message: "access denied"}
	for name, override := range map[string]func(s *session, h *proto.Header, payload []byte) bool{
		"channel": func(s *session, h *proto.Header, payload []byte) bool {
			r := proto.NewReader(payload, h.Order())
			if h.Command == proto.CmdCreateChannel {
				channels, _ := proto.ParseCreateChannel(&r)
				s.write(proto.AppendCreated(nil, &proto.Created{CID: channels[0].CID, Status: refusal}, s.flags()))
			}
			return h.Command == proto.CmdCreateChannel
		},
		"monitor": func(s *session, h *proto.Header, payload []byte) bool {
			r := proto.NewReader(payload, h.Order())
			q := proto.ParseRequest(&r)
			init := h.Command == proto.CmdMonitor && q.Sub&proto.SubInit != 0
			if init {
				a := proto.Answer{IOID: q.IOID, Sub: proto.SubInit}
				s.write(proto.AppendInitAnswer(nil, proto.CmdMonitor, a, refusal, nil, s.flags()))
			}
			return init
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := doubles(nameServerAddr)
			server.override = override
			bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
				r := &recorder{}
				c.Subscribe("PV", capture.SubscribeOptions{}, r)
				testclock.Advance(10 * time.Minute)
				if tries := server.count(proto.CmdCreateChannel); tries < 60 || tries > 240 || r.Connects > 0 {
					t.Errorf("%d tries in 10 minutes, calls %v", tries, r.Calls())
				}
				if r.Cause == nil || !strings.Contains(r.Cause.Error(), "access denied") {
					t.Errorf("the cause is %v", r.Cause)
				}
			}, server)
		})
	}
}

func TestTypeOfAChannelWithoutTheRequestedFieldsIsReported(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{Fields: "colour"}, r)
		testclock.Advance(time.Minute)
		if r.Info.TypeName != scalarType.ID || r.Info.Type.Valid() || r.Connects != 1 || len(r.Samples) > 0 {
			t.Errorf("%+v, calls %v", r.Info, r.Calls())
		}
	}, server)
}

func TestTypeThatCannotBeUsedHarmsItsChannelOnly(t *testing.T) {
	deep := []byte{}
	for range 100 {
		deep = append(deep, byte(proto.Struct), 0, 1, 1, 'a')
	}
	for name, hostile := range map[string][]byte{
		"deep": deep, "unknown code": {0x77}, "unknown number": {0xfe, 9, 9}, "cut short": {byte(proto.Struct), 0, 200},
		"nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			server := doubles(nameServerAddr)
			answered := 0
			server.override = func(s *session, h *proto.Header, payload []byte) bool {
				r := proto.NewReader(payload, h.Order())
				q := proto.ParseRequest(&r)
				if h.Command != proto.CmdMonitor || q.Sub&proto.SubInit == 0 || q.IOID != 1 {
					return false
				}
				answered++
				b := proto.BeginAnswer(nil, proto.CmdMonitor, proto.Answer{IOID: q.IOID, Sub: proto.SubInit}, s.flags())
				s.write(proto.End(append(proto.AppendStatus(b, proto.Status{}, proto.LittleEndian), hostile...), 0))
				return true
			}
			bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
				good, bad := &recorder{}, &recorder{}
				c.Subscribe("GOOD", capture.SubscribeOptions{}, good)
				testclock.Advance(time.Second)
				c.Subscribe("BAD", capture.SubscribeOptions{}, bad)
				testclock.Advance(time.Minute)
				if bad.Connects > 0 || bad.Cause == nil || answered < 5 || answered > 30 {
					t.Errorf("got %v after %d answers", bad.Calls(), answered)
				}
				if len(good.Calls()) != 2 || server.circuits() != 1 {
					t.Errorf("the other channel got %v", good.Calls())
				}
			}, server)
		})
	}
}

func TestClosedSubscriptionIsEndedAtTheServer(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		clienttest.CheckClose(t, c, math.Float64bits(7), func() {
			s := server.last()
			s.write(s.update(s.subs[0], []int{fieldValue}, 8.0)) // the update was already in flight
		})
		if server.count(proto.CmdDestroyRequest) != 1 || server.count(proto.CmdDestroyChannel) != 1 {
			t.Error("the client did not end the channel exactly once")
		}
	}, server)
}

func TestSubscriptionsMayBeClosedAtAnyTime(t *testing.T) {
	names := doubles(nameServerAddr)
	names.redirect = map[string]string{"PV": otherAddr}
	other := doubles(otherAddr)
	other.override = func(_ *session, h *proto.Header, _ []byte) bool {
		time.Sleep(time.Millisecond) // so that Close may run between any two messages
		return false
	}
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		clienttest.SubscribeAndClose(c)
		if s := c.kernel.Stats(); s != (client.Stats{Circuits: 1}) {
			t.Errorf("the client still has %+v, want only one circuit", s)
		}
	}, names, other)
}

func TestPVOnTwoServersIsReportedAndTheFirstServerKept(t *testing.T) {
	for name, c := range map[string]struct {
		guid proto.GUID
		want float64
	}{"another server": {proto.GUID{9}, 1}, "another address of the same": {proto.GUID{1}, 0}} {
		t.Run(name, func(t *testing.T) {
			server := doubles(nameServerAddr)
			server.override = func(s *session, h *proto.Header, payload []byte) bool {
				if h.Command == proto.CmdSearch {
					s.write(s.answer(h, payload))
					second := doubles(otherAddr)
					second.guid = c.guid
					s.write((&session{script: second}).answer(h, payload))
				}
				return h.Command == proto.CmdSearch
			}
			bubble(t, func(t *testing.T, n *clienttest.Network, client *Client) {
				r := &recorder{}
				client.Subscribe("PV", capture.SubscribeOptions{}, r)
				testclock.Advance(time.Second)
				if got := clienttest.Value(client.metrics.Duplicates); got != c.want || r.Info.Host != nameServerAddr || n.Dials(otherAddr) > 0 {
					t.Errorf("%v duplicate servers, the client used %s", got, r.Info.Host)
				}
			}, server)
		})
	}
}

func TestTypeMayChangeWhenTheServerDeletesTheChannel(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Minute)
		s := server.last()
		server.typ = proto.NewStruct("epics:nt/NTScalar:1.0", "value", texts1, "timeStamp", timeType)
		server.first = []any{"text", int64(seconds), 0, 0}
		s.write(proto.AppendDestroyChannel(nil, 100, s.subs[0], s.flags()))
		testclock.Advance(time.Second)
		if r.Info.Type != sample.String || len(r.Samples) != 2 || string(r.Samples[1].Bytes) != "text" {
			t.Errorf("calls %v, samples %+v", r.Calls(), r.Samples)
		}
	}, server)
}

func TestTypeMayChangeWhileTheChannelStays(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		huge := proto.Header{Version: 2, Flags: s.flags(), Command: proto.CmdMonitor, Size: 1 << 25}
		update := proto.BeginAnswer(nil, proto.CmdMonitor, proto.Answer{IOID: s.subs[0]}, s.flags())
		b := append(proto.AppendHeader(nil, huge), update[proto.HeaderSize:]...)
		b = append(b, make([]byte, 1<<25-answerHead)...)
		server.typ = proto.NewStruct("epics:nt/NTScalar:1.0", "value", texts1, "timeStamp", timeType)
		server.first = []any{"text", int64(seconds), 0, 0}
		s.write(append(b, s.update(s.subs[0], []int{fieldValue}, 8.0)...)) // the server starts the monitor again
		testclock.Advance(time.Second)
		want := []string{
			"connected float64", "metadata mA", "dropped too_large 1", "dropped too_large 1", "connected string", "metadata ",
		}
		if diff := cmp.Diff(want, r.Calls()); diff != "" || string(r.Samples[len(r.Samples)-1].Bytes) != "text" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, server)
}
