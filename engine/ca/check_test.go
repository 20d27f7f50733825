package ca

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/testclock"
)

// checked is a client that checks channels without updates every minute, with one channel.
type checked struct {
	*clienttest.Checked
	server *script
	value  atomic.Uint64 // if it is not 0, the value of all channels
}

func withChecks(t *testing.T, override func(s *session, h *proto.Header, _ []byte) bool, f func(t *testing.T, c *checked)) {
	t.Helper()
	c := &checked{server: doubles(nameServerAddr)}
	c.server.override = func(s *session, h *proto.Header, payload []byte) bool {
		if v := c.value.Load(); v != 0 {
			s.value.Word = v
		}
		return override != nil && override(s, h, payload)
	}
	clienttest.WithChecks(t, "varve_ca_", func(t *testing.T, set func(*client.Config)) capture.Source {
		config := config(clienttest.NewNetwork(c.server))
		set(&config.Config)
		return clienttest.Start(t, New, config)
	}, func(t *testing.T, common *clienttest.Checked) {
		c.Checked = common
		f(t, c)
	})
}

// TestAConstantChannelIsNotSubscribedAgain checks that the reads of a constant channel have no other
// effect, even if its time stamp changes, as that of a record that is processed without an update.
func TestAConstantChannelIsNotSubscribedAgain(t *testing.T) {
	reads := 0
	withChecks(t, func(s *session, h *proto.Header, _ []byte) bool {
		if h.Command == proto.CmdReadNotify {
			reads++
			s.value.Time += 1e9
		}
		return false
	}, func(t *testing.T, c *checked) {
		c.CheckConstant(t, func() {}, func() int { return reads })
		if n := c.server.count(proto.CmdEventCancel); n > 0 {
			t.Errorf("%d subscriptions were cancelled", n)
		}
	})
}

// TestADeadSubscriptionIsReplaced checks that a channel whose value changes without an update gets the
// value, a mark and a new subscription, and that the channel counts as healed once that one delivers.
func TestADeadSubscriptionIsReplaced(t *testing.T) {
	for name, revives := range map[string]bool{"the new subscription delivers": true, "the new subscription is dead too": false} {
		t.Run(name, func(t *testing.T) {
			withChecks(t, nil, func(t *testing.T, c *checked) {
				update := func() {
					session := c.server.last()
					if len(session.subs) != 2 || session.subs[0] != session.subs[1] {
						t.Errorf("subscriptions %v", session.subs)
					}
					session.write(session.update(9, session.subs[0]))
				}
				if !revives {
					update = nil
				}
				c.CheckDead(t, func() { c.value.Add(8) }, []float64{math.Float64frombits(7), math.Float64frombits(8), math.Float64frombits(8)}, update)
			})
		})
	}
}

// TestAChannelWhoseServerAnswersNoReadIsLost checks that a channel is lost, and found again, if the
// server answers only ECHO.
func TestAChannelWhoseServerAnswersNoReadIsLost(t *testing.T) {
	withChecks(t, func(_ *session, h *proto.Header, _ []byte) bool { return h.Command == proto.CmdReadNotify },
		func(t *testing.T, c *checked) { c.CheckUnanswered(t, errUnanswered) })
}

// TestUpdatesAndRefusalsEndAChecking checks that neither a channel that gets updates nor one whose
// value cannot be read is subscribed again or lost.
func TestUpdatesAndRefusalsEndAChecking(t *testing.T) {
	var update atomic.Bool
	for name, answer := range map[string]func(s *session, h *proto.Header) bool{
		"an update comes before the answer": func(s *session, h *proto.Header) bool {
			update.Store(true)
			s.write(s.update(9, s.subs[0]))
			s.value.Word = 9
			return false
		},
		"the server refuses the read": func(s *session, h *proto.Header) bool {
			s.write(proto.AppendReadFail(nil, proto.DBR(h.Type), proto.StatusNoReadAccess, h.P2))
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			withChecks(t, func(s *session, h *proto.Header, _ []byte) bool {
				return h.Command == proto.CmdReadNotify && answer(s, h)
			}, func(t *testing.T, c *checked) {
				testclock.Advance(5 * time.Minute)
				if c.Sink.Connects != 1 || len(c.Sink.Suspects()) > 0 || c.server.count(proto.CmdEventCancel) > 0 {
					t.Errorf("the sink got %v", c.Sink.Calls())
				}
			})
		})
	}
}

// TestChecksOfRecordsOfAnIOC checks channels without updates against EPICS base.
func TestChecksOfRecordsOfAnIOC(t *testing.T) {
	ioc, registry := epics.StartIOC(t, clienttest.Quiet), prometheus.NewRegistry()
	config := Config{Config: clienttest.ByUDP(ioc.CAAddr())}
	config.Registerer, config.CheckEvery = registry, time.Second
	clienttest.CheckQuiet(t, clienttest.Start(t, New, config), registry, "varve_ca_")
}

// TestTheEndOfASubscriptionIsNoLoss checks that the confirmation with which a server ends a
// subscription, as before each new one, does not count as a lost update. EPICS base sends the number of
// the channel where updates have their status.
func TestTheEndOfASubscriptionIsNoLoss(t *testing.T) {
	server := doubles(nameServerAddr)
	bubble(t, func(t *testing.T, n *clienttest.Network, c *Client) {
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		s := server.last()
		for sid := range uint32(3) {
			s.write(proto.AppendHeader(nil, proto.Header{Command: proto.CmdEventAdd, Type: uint16(proto.Double.In(proto.TIME)), Count: 1, P1: sid, P2: s.subs[0]}))
		}
		testclock.Advance(time.Second)
		if len(r.Words()) != 1 || len(r.Calls()) != 2 {
			t.Errorf("%d samples, calls %v", len(r.Words()), r.Calls())
		}
	}, server)
}
