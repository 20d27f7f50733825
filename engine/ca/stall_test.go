package ca

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/ca/proto"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/test/testclock"
)

// fixture is a client with two channels on a connection that can fail. The server updates the
// busy channel ten times per second and never updates the quiet one.
type fixture struct {
	server      *script
	conn        *faulty
	busy, quiet *recorder
	registry    *prometheus.Registry
	paused      atomic.Bool // if set, the server sends no updates
	next        uint64
}

// withFixture runs a test after the client has received updates for half a minute.
func withFixture(t *testing.T, f func(t *testing.T, s *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &fixture{server: doubles(nameServerAddr), busy: &recorder{}, quiet: &recorder{}, registry: prometheus.NewRegistry()}
		n := clienttest.NewNetwork(s.server)
		config := config(n)
		config.Registerer = s.registry
		config.Dial = through(n, func(c *faulty) { s.conn = c })
		c := clienttest.Start(t, New, config)
		c.Subscribe("BUSY", capture.SubscribeOptions{}, s.busy)
		testclock.Advance(time.Second)
		c.Subscribe("QUIET", capture.SubscribeOptions{}, s.quiet)
		testclock.Advance(time.Second)
		ended := make(chan struct{})
		defer close(ended)
		session := s.server.last()
		go s.update(session, ended)
		testclock.Advance(30 * time.Second)
		f(t, s)
	})
}

// update sends increasing numbers until the test ends.
func (s *fixture) update(to *session, ended chan struct{}) {
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		select {
		case <-ended:
			tick.Stop()
			return
		case <-tick.C:
			if !s.paused.Load() {
				s.next++
				to.write(to.update(s.next, to.subs[0]))
			}
		}
	}
}

func TestStallIsReportedOnceToChannelsThatWereActive(t *testing.T) {
	withFixture(t, func(t *testing.T, s *fixture) {
		s.conn.hold(true)
		testclock.Advance(10 * time.Second)
		s.conn.hold(false)
		testclock.Advance(time.Minute)
		got := s.busy.Suspects()
		if len(got) != 1 || !strings.HasPrefix(got[0], "suspect 10") && !strings.HasPrefix(got[0], "suspect 9.9") {
			t.Errorf("the busy channel got %v", s.busy.Calls())
		}
		if len(s.quiet.Suspects()) > 0 {
			t.Errorf("the quiet channel got %v", s.quiet.Calls())
		}
		for i, w := range s.busy.Words()[1:] {
			if w != uint64(i+1) {
				t.Fatalf("value %d has word %d", i, w)
			}
		}
		if m := clienttest.Gather(t, s.registry); m["varve_ca_stalls_total"] != 1 || m["varve_ca_events_off_total"] != 0 {
			t.Errorf("got metrics %v", m)
		}
	})
}

func TestPauseOfAServerIsNoStall(t *testing.T) {
	withFixture(t, func(t *testing.T, s *fixture) {
		for range 3 {
			s.paused.Store(true)
			testclock.Advance(20 * time.Second)
			s.paused.Store(false)
			testclock.Advance(time.Minute)
		}
		if log := s.busy.Calls(); len(log) != 2 {
			t.Errorf("the busy channel got %v", log)
		}
	})
}

func TestHalfOpenCircuitIsReportedAsStallAndDisconnect(t *testing.T) {
	withFixture(t, func(t *testing.T, s *fixture) {
		s.conn.hold(true)
		testclock.Advance(client.DefaultConnTimeout + echoTimeout + time.Second)
		lost := "disconnected: lost 10.0.0.1:5064: " + errSilent.Error()
		busy := s.busy.Calls()
		if len(busy) < 4 || !strings.HasPrefix(busy[2], "suspect 3") || busy[3] != lost {
			t.Errorf("the busy channel got %v", busy)
		}
		if quiet := s.quiet.Calls(); len(quiet) < 3 || quiet[2] != lost {
			t.Errorf("the quiet channel got %v", quiet)
		}
	})
}

// slow is a sink that needs time for each sample, as in a process with too little CPU time.
type slow struct{ recorder }

func (s *slow) Sample(*sample.Sample) { time.Sleep(100 * time.Microsecond) }

func TestServerHoldsItsUpdatesWhileTheClientIsBehind(t *testing.T) {
	server := doubles(nameServerAddr)
	var off, offs, ons atomic.Int32
	server.override = func(_ *session, h *proto.Header, _ []byte) bool {
		switch h.Command {
		case proto.CmdEventsOff:
			off.Store(1)
			offs.Add(1)
		case proto.CmdEventsOn:
			off.Store(0)
			ons.Add(1)
		}
		return false
	}
	synctest.Test(t, func(t *testing.T) {
		n := clienttest.NewNetwork(server)
		config := config(n)
		config.Dial = through(n, func(*faulty) {})
		c := clienttest.Start(t, New, config)
		sink := &slow{}
		c.Subscribe("PV", capture.SubscribeOptions{}, sink)
		testclock.Advance(time.Second)
		session := server.last()
		var burst []byte
		for range 200 { // 20,000 per second: twice as many as the sink can handle
			burst = append(burst, session.update(1, session.subs[0])...)
		}
		for range 1000 {
			if off.Load() == 0 {
				session.write(burst)
			}
			time.Sleep(10 * time.Millisecond)
		}
		testclock.Advance(time.Minute)
		if offs.Load() == 0 || offs.Load() > 3 || ons.Load() != offs.Load() {
			t.Errorf("EVENTS_OFF was sent %d times, EVENTS_ON %d times", offs.Load(), ons.Load())
		}
		if got := sink.recorder.Suspects(); len(got) != int(offs.Load()) {
			t.Errorf("suspected losses %v", got)
		}
	})
}

func TestShortBacklogIsDrainedWithoutHoldingTheServer(t *testing.T) {
	withFixture(t, func(t *testing.T, s *fixture) {
		s.paused.Store(true)
		testclock.Advance(time.Second)
		s.conn.hold(true)
		session := s.server.last()
		for range 100_000 {
			s.next++
			session.write(session.update(s.next, session.subs[0]))
		}
		s.conn.hold(false)
		testclock.Advance(time.Second)
		if got := s.server.count(proto.CmdEventsOff); got > 0 {
			t.Errorf("EVENTS_OFF was sent %d times, want 0", got)
		}
	})
}

func TestChannelSurvivesAServerKilledAfterAnyByte(t *testing.T) {
	for cut := range 420 {
		server := doubles(nameServerAddr)
		synctest.Test(t, func(t *testing.T) {
			n := clienttest.NewNetwork(server)
			config := config(n)
			cuts := []int{cut, cut}
			config.Dial = through(n, func(c *faulty) {
				if len(cuts) > 0 {
					c.left, cuts = cuts[0], cuts[1:]
				}
			})
			c := clienttest.Start(t, New, config)
			r := &recorder{}
			c.Subscribe("PV", capture.SubscribeOptions{}, r)
			testclock.Advance(time.Minute)
			if !r.Up || r.Early > 0 || len(r.Samples) == 0 || r.Samples[len(r.Samples)-1].Word != 7 {
				t.Fatalf("server killed after %d bytes: calls %v, values %v", cut, r.Calls(), r.Words())
			}
		})
	}
}

func TestUpdatesMayComeOneByteAtATime(t *testing.T) {
	server := doubles(nameServerAddr)
	synctest.Test(t, func(t *testing.T) {
		n := clienttest.NewNetwork(server)
		config := config(n)
		config.Dial = through(n, func(c *faulty) { c.drip = true })
		c := clienttest.Start(t, New, config)
		r := &recorder{}
		c.Subscribe("PV", capture.SubscribeOptions{}, r)
		testclock.Advance(time.Second)
		server.last().write(server.last().update(8, server.last().subs[0]))
		testclock.Advance(time.Second)
		if diff := cmp.Diff([]uint64{7, 8}, r.Words()); diff != "" {
			t.Errorf("calls %v, values (-want +got):\n%s", r.Calls(), diff)
		}
	})
}
