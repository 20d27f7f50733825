package pva

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/testclock"
)

// checked is a client that checks channels without updates every minute, with one channel.
type checked struct {
	server   *script
	value    atomic.Int64 // if it is not 0, the value of all channels
	time     atomic.Int64 // if it is not 0, the seconds of their time stamps
	sink     *recorder
	registry *prometheus.Registry
}

func withChecks(t *testing.T, override func(s *session, h *proto.Header, payload []byte) bool, f func(c *checked)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &checked{server: doubles(nameServerAddr), sink: &recorder{}, registry: prometheus.NewRegistry()}
		c.server.override = func(s *session, h *proto.Header, payload []byte) bool {
			if v := c.value.Load(); v != 0 {
				s.first[0] = float64(v)
			}
			if v := c.time.Load(); v != 0 {
				s.first[4] = v
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
		if n := m["varve_pva_subscription_checks_total "+r]; n > 0 {
			out = append(out, fmt.Sprintf("%s %v", r, n))
		}
	}
	return strings.Join(out, ", ")
}

// TestTheCheckOfAConstantChannelHasNoEffect checks that the sink of a constant channel gets nothing
// from the checks, even if the time stamp changes.
func TestTheCheckOfAConstantChannelHasNoEffect(t *testing.T) {
	withChecks(t, nil, func(c *checked) {
		before := len(c.sink.Calls())
		c.time.Store(seconds + 5)
		testclock.Advance(10 * time.Minute)
		if calls := c.sink.Calls(); len(calls) != before || len(c.sink.Words()) != 1 {
			t.Errorf("the sink got %v and %d samples", calls, len(c.sink.Words()))
		}
		n := len(c.server.last().subs) - 1
		if got := c.results(t); n < 5 || n > 10 || got != fmt.Sprintf("same %d", n) {
			t.Errorf("%d checks in 10 minutes, results: %s", n, got)
		}
	})
}

// TestADeadMonitorIsReplaced checks that a channel whose value changes without an update gets the value
// and a mark, and that it counts as healed once the new monitor delivers. An update has only the
// fields that changed, so its sample shows that the record is right.
func TestADeadMonitorIsReplaced(t *testing.T) {
	withChecks(t, nil, func(c *checked) {
		c.value.Store(8) // and the server sends no update
		testclock.Advance(2*time.Minute + 5*time.Second)
		if got := c.sink.Floats(); len(got) != 2 || got[1] != 8 || len(c.sink.Suspects()) != 1 {
			t.Fatalf("samples %v, calls %v", got, c.sink.Calls())
		}
		if got := c.results(t); !strings.HasSuffix(got, "changed 1") {
			t.Errorf("results: %s", got)
		}
		session := c.server.last()
		session.write(session.update(session.subs[0], []int{fieldSeverity}, 2))
		testclock.Advance(time.Second)
		if got := c.results(t); !strings.HasSuffix(got, "changed 1, healed 1") {
			t.Errorf("results: %s", got)
		}
		if got := c.sink.Floats(); len(got) != 3 || got[2] != 8 || c.sink.Samples[2].Tag.Severity() != 2 {
			t.Errorf("samples %v, the last with severity %v", got, c.sink.Samples[len(got)-1].Tag.Severity())
		}
	})
}

// TestUpdatesDuringACheckAreKept checks that updates of the old monitor, which the server sends before
// it answers the check, are delivered.
func TestUpdatesDuringACheckAreKept(t *testing.T) {
	inits := 0
	withChecks(t, func(s *session, h *proto.Header, payload []byte) bool {
		r := proto.NewReader(payload, h.Order())
		if h.Command == proto.CmdMonitor && proto.ParseRequest(&r).Sub&proto.SubInit != 0 {
			if inits++; inits == 2 {
				s.write(s.update(s.subs[0], []int{fieldValue}, 8.0))
				s.write(s.update(s.subs[0], []int{fieldValue}, 9.0))
				s.first[0] = 9.0
			}
		}
		return false
	}, func(c *checked) {
		testclock.Advance(2*time.Minute + 5*time.Second)
		if got := c.sink.Floats(); len(got) < 3 || got[1] != 8 || got[2] != 9 || len(c.sink.Suspects()) > 0 {
			t.Errorf("samples %v, calls %v", got, c.sink.Calls())
		}
		session := c.server.last()
		session.write(session.update(session.subs[0], []int{fieldValue}, 10.0))
		testclock.Advance(time.Second)
		if got := c.sink.Floats(); got[len(got)-1] != 10 {
			t.Errorf("samples %v after another update", got)
		}
	})
}

// TestAChannelWhoseServerAnswersNoCheckIsLost checks that a channel is lost, and found again, if the
// server does not start its monitor again.
func TestAChannelWhoseServerAnswersNoCheckIsLost(t *testing.T) {
	inits := 0
	withChecks(t, func(_ *session, h *proto.Header, payload []byte) bool {
		r := proto.NewReader(payload, h.Order())
		if h.Command != proto.CmdMonitor || proto.ParseRequest(&r).Sub&proto.SubInit == 0 {
			return false
		}
		inits++
		return inits == 2
	}, func(c *checked) {
		testclock.Advance(3 * time.Minute)
		if c.sink.Connects != 2 || !c.sink.Up || c.sink.Cause == nil || !strings.Contains(c.sink.Cause.Error(), errUnanswered.Error()) {
			t.Errorf("the sink got %v", c.sink.Calls())
		}
		if got := c.results(t); !strings.HasPrefix(got, "unanswered 1") {
			t.Errorf("results: %s", got)
		}
	})
}

// TestChecksOfRecordsOfAnIOC checks channels without updates against EPICS base.
func TestChecksOfRecordsOfAnIOC(t *testing.T) {
	ioc, registry := epics.StartIOC(t, clienttest.Quiet), prometheus.NewRegistry()
	config := Config{Config: clienttest.ByTCP(ioc.PVAAddr())}
	config.Registerer, config.CheckEvery = registry, time.Second
	clienttest.CheckQuiet(t, clienttest.Start(t, New, config), registry, "varve_pva_")
}
