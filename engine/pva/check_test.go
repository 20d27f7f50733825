package pva

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/pva/proto"
	"varve.dev/varve/test/epics"
	"varve.dev/varve/test/testclock"
)

// checked is a client that checks channels without updates every minute, with one channel.
type checked struct {
	*clienttest.Checked
	server *script
	value  atomic.Int64 // if it is not 0, the value of all channels
	time   atomic.Int64 // if it is not 0, the seconds of their time stamps
}

func withChecks(t *testing.T, override func(s *session, h *proto.Header, payload []byte) bool, f func(t *testing.T, c *checked)) {
	t.Helper()
	c := &checked{server: doubles(nameServerAddr)}
	c.server.override = func(s *session, h *proto.Header, payload []byte) bool {
		if v := c.value.Load(); v != 0 {
			s.first[0] = float64(v)
		}
		if v := c.time.Load(); v != 0 {
			s.first[4] = v
		}
		return override != nil && override(s, h, payload)
	}
	clienttest.WithChecks(t, "varve_pva_", func(t *testing.T, set func(*client.Config)) capture.Source {
		config := config(clienttest.NewNetwork(c.server))
		set(&config.Config)
		return clienttest.Start(t, New, config)
	}, func(t *testing.T, common *clienttest.Checked) {
		c.Checked = common
		f(t, c)
	})
}

// TestTheCheckOfAConstantChannelHasNoEffect checks that the sink of a constant channel gets nothing
// from the checks, even if the time stamp changes.
func TestTheCheckOfAConstantChannelHasNoEffect(t *testing.T) {
	withChecks(t, nil, func(t *testing.T, c *checked) {
		c.CheckConstant(t, func() { c.time.Store(seconds + 5) }, func() int { return len(c.server.last().subs) - 1 })
	})
}

// TestADeadMonitorIsReplaced checks that a channel whose value changes without an update gets the value
// and a mark, and that it counts as healed once the new monitor delivers. An update has only the
// fields that changed, so its sample shows that the record is right.
func TestADeadMonitorIsReplaced(t *testing.T) {
	withChecks(t, nil, func(t *testing.T, c *checked) {
		c.CheckDead(t, func() { c.value.Store(8) }, []float64{7, 8}, func() {
			session := c.server.last()
			session.write(session.update(session.subs[0], []int{fieldSeverity}, 2))
		})
		if got := c.Sink.Floats(); len(got) != 3 || got[2] != 8 || c.Sink.Samples[2].Tag.Severity() != 2 {
			t.Errorf("samples %v, the last with severity %v", got, c.Sink.Samples[len(got)-1].Tag.Severity())
		}
	})
}

// TestANewMonitorThatIsDeadTooHealsNothing checks a channel that gets no update of its new monitor.
func TestANewMonitorThatIsDeadTooHealsNothing(t *testing.T) {
	withChecks(t, nil, func(t *testing.T, c *checked) {
		c.CheckDead(t, func() { c.value.Add(8) }, []float64{7, 8}, nil)
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
	}, func(t *testing.T, c *checked) {
		testclock.Advance(2*time.Minute + 5*time.Second)
		if got := c.Sink.Floats(); len(got) < 3 || got[1] != 8 || got[2] != 9 || len(c.Sink.Suspects()) > 0 {
			t.Errorf("samples %v, calls %v", got, c.Sink.Calls())
		}
		session := c.server.last()
		session.write(session.update(session.subs[0], []int{fieldValue}, 10.0))
		testclock.Advance(time.Second)
		if got := c.Sink.Floats(); got[len(got)-1] != 10 {
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
	}, func(t *testing.T, c *checked) {
		c.CheckUnanswered(t, errUnanswered)
		if c.Sink.Connects != 2 || !c.Sink.Up {
			t.Errorf("the sink got %v", c.Sink.Calls())
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
