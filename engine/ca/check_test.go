package ca

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/testclock"
)

// checked is a client that checks channels without updates every minute, with one channel.
type checked struct {
	server   *script
	value    atomic.Uint64 // if it is not 0, the value of all channels
	sink     *recorder
	registry *prometheus.Registry
}

func withChecks(t *testing.T, override func(s *session, h *proto.Header, _ []byte) bool, f func(c *checked)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &checked{server: doubles(nameServerAddr), sink: &recorder{}, registry: prometheus.NewRegistry()}
		c.server.override = func(s *session, h *proto.Header, payload []byte) bool {
			if v := c.value.Load(); v != 0 {
				s.value.Word = v
			}
			return override != nil && override(s, h, payload)
		}
		config := config(clienttest.NewNetwork(c.server))
		config.Registerer, config.CheckEvery = c.registry, time.Minute
		clienttest.Start(t, New, config).Subscribe("PV", capture.SubscribeOptions{}, c.sink)
		testclock.Advance(time.Second)
		f(c)
	})
}

// results returns the counts of checks by result.
func (c *checked) results(t *testing.T) string {
	t.Helper()
	m := clienttest.Gather(t, c.registry)
	var out []string
	for _, r := range []string{"same", "changed", "healed", "failed", "unanswered"} {
		if n := m["varve_ca_subscription_checks_total "+r]; n > 0 {
			out = append(out, fmt.Sprintf("%s %v", r, n))
		}
	}
	return strings.Join(out, ", ")
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
	}, func(c *checked) {
		before := len(c.sink.Calls())
		testclock.Advance(10 * time.Minute)
		if reads < 5 || reads > 10 {
			t.Errorf("%d reads in 10 minutes", reads)
		}
		if calls := c.sink.Calls(); len(calls) != before || len(c.sink.Words()) != 1 || c.server.count(proto.CmdEventCancel) > 0 {
			t.Errorf("the sink got %v and %d samples, with %d cancelled subscriptions", calls, len(c.sink.Words()), c.server.count(proto.CmdEventCancel))
		}
		if got := c.results(t); got != fmt.Sprintf("same %d", reads) {
			t.Errorf("results: %s", got)
		}
	})
}

// TestADeadSubscriptionIsReplaced checks that a channel whose value changes without an update gets the
// value, a mark and a new subscription, and that the channel counts as healed once that one delivers.
func TestADeadSubscriptionIsReplaced(t *testing.T) {
	for name, revives := range map[string]bool{"the new subscription delivers": true, "the new subscription is dead too": false} {
		t.Run(name, func(t *testing.T) {
			withChecks(t, nil, func(c *checked) {
				c.value.Store(8) // and the server sends no update
				testclock.Advance(2*time.Minute + 5*time.Second)
				session := c.server.last()
				if got := c.sink.Words(); len(got) != 3 || got[1] != 8 || got[2] != 8 || len(session.subs) != 2 || session.subs[0] != session.subs[1] {
					t.Fatalf("samples %v, subscriptions %v", got, session.subs)
				}
				if s := c.sink.Suspects(); len(s) != 1 {
					t.Errorf("the sink got %v", c.sink.Calls())
				}
				if got := c.results(t); !strings.HasSuffix(got, "changed 1") {
					t.Errorf("results: %s", got)
				}
				if revives {
					session.write(session.update(9, session.subs[0]))
					testclock.Advance(time.Second)
					if got := c.results(t); !strings.HasSuffix(got, "changed 1, healed 1") {
						t.Errorf("results: %s", got)
					}
					return
				}
				c.value.Store(10)
				testclock.Advance(3 * time.Minute)
				if got := c.results(t); !strings.Contains(got, "changed 2") || strings.Contains(got, "healed") {
					t.Errorf("results: %s", got)
				}
			})
		})
	}
}

// TestAChannelWhoseServerAnswersNoReadIsLost checks that a channel is lost, and found again, if the
// server answers only ECHO.
func TestAChannelWhoseServerAnswersNoReadIsLost(t *testing.T) {
	withChecks(t, func(_ *session, h *proto.Header, _ []byte) bool { return h.Command == proto.CmdReadNotify }, func(c *checked) {
		testclock.Advance(5 * time.Minute)
		if c.sink.Connects < 2 || c.sink.Cause == nil || !strings.Contains(c.sink.Cause.Error(), errUnanswered.Error()) {
			t.Errorf("the sink got %v", c.sink.Calls())
		}
		if got := c.results(t); !strings.HasPrefix(got, "unanswered") {
			t.Errorf("results: %s", got)
		}
	})
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
			}, func(c *checked) {
				testclock.Advance(5 * time.Minute)
				if c.sink.Connects != 1 || len(c.sink.Suspects()) > 0 || c.server.count(proto.CmdEventCancel) > 0 {
					t.Errorf("the sink got %v", c.sink.Calls())
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
