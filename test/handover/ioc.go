package handover

import (
	"slices"
	"time"
)

// ioc sends numbered updates of one shard's PV to all subscribers.
type ioc struct {
	w     *world
	shard int
	every time.Duration
	sent  []time.Duration // when each update was sent
	subs  []*subscription
	quiet bool // the IOC no longer sends updates
}

// subscription is the subscription of a shardJournal. It lasts until the engine releases the
// shard or dies, through all reconnects.
type subscription struct {
	shardJournal *shardJournal
	connected    bool
	since        time.Duration // when it last connected, by the engine's clock
	changed      time.Duration // when it last connected or disconnected, by the engine's clock
	circuit      int           // number of circuits that broke so far
	onWay        []waiting     // updates that wait in sockets
	ended        bool
}

// waiting is an update that the process has not read yet. It waits in a socket of the
// engine, or, if far is set, on the other side of a partition.
type waiting struct {
	n   int
	far bool
}

func (i *ioc) run() {
	if i.quiet {
		return
	}
	i.send()
	i.w.after(i.w.between(i.every/4, i.every*2), i.run)
}

// send sends an update to all subscribers.
func (i *ioc) send() {
	i.w.count(Updates)
	n := len(i.sent)
	i.sent = append(i.sent, i.w.now)
	i.w.oracle.sent(i)
	if i.w.cfg.Trace {
		i.w.tracef(i.shard, "IOC sends %d", n)
	}
	for _, s := range i.subs {
		if s.connected {
			i.deliver(s, n)
		}
	}
}

// deliver brings an update to a client within milliseconds. If the client stalls or is cut
// off from the IOC, the update arrives when the stall or the partition ends. An update on
// the other side of a partition is lost if the circuit breaks first.
func (i *ioc) deliver(s *subscription, n int) {
	e, circuit := s.shardJournal.engine, s.circuit
	cut := max(e.pod.cut[cutIOC]-i.w.now, 0)
	x := waiting{n, cut > 0}
	s.onWay = append(s.onWay, x)
	e.after(cut+i.w.between(0, 20*time.Millisecond), func() {
		if !s.ended && (s.circuit == circuit || !x.far) {
			i.arrive(s, x)
		}
	})
}

func (i *ioc) arrive(s *subscription, x waiting) {
	if at := slices.Index(s.onWay, x); at >= 0 {
		s.onWay = slices.Delete(s.onWay, at, at+1)
		s.shardJournal.arrive(sample{x.n, i.sent[x.n]})
	}
}

// subscribe connects a shardJournal, and reconnects it whenever the circuit breaks.
func (i *ioc) subscribe(l *shardJournal) *subscription {
	s := &subscription{shardJournal: l, changed: l.engine.clock()}
	i.subs = append(i.subs, s)
	i.connect(s, i.w.between(50*time.Millisecond, 2*time.Second))
	return s
}

func (i *ioc) connect(s *subscription, in time.Duration) {
	s.shardJournal.engine.after(in, func() {
		switch {
		case s.ended:
		case s.shardJournal.engine.isCut(cutIOC):
			i.connect(s, i.w.between(time.Second, 5*time.Second))
		default:
			s.connected, s.since = true, s.shardJournal.engine.clock()
			s.changed = s.since
			i.w.tracef(i.shard, "%v has connected", s.shardJournal)
			if n := len(i.sent) - 1; n >= 0 { // the current value comes first
				i.deliver(s, n)
			}
			i.watch(s)
		}
	})
}

// watch detects a dead circuit within some seconds and reconnects.
func (i *ioc) watch(s *subscription) {
	s.shardJournal.engine.after(i.w.between(time.Second, 8*time.Second), func() {
		switch {
		case s.ended:
		case s.shardJournal.engine.isCut(cutIOC):
			s.connected, s.changed = false, s.shardJournal.engine.clock()
			s.circuit++
			s.onWay = slices.DeleteFunc(s.onWay, func(x waiting) bool { return x.far })
			i.w.tracef(i.shard, "%v has disconnected", s.shardJournal)
			i.connect(s, time.Second)
		default:
			i.watch(s)
		}
	})
}

// unsubscribe ends a subscription in order: the client reads all updates that the IOC has
// sent before it reads the IOC's answer.
func (i *ioc) unsubscribe(s *subscription) {
	for _, x := range slices.Clone(s.onWay) {
		if i.w.cfg.Fault != UnreadUpdates && !(x.far && s.shardJournal.engine.isCut(cutIOC)) {
			i.arrive(s, x)
		}
	}
	i.end(s)
}

// end ends a subscription at once, without reading the updates on their way.
func (i *ioc) end(s *subscription) {
	s.ended, s.connected = true, false
	i.subs = slices.DeleteFunc(i.subs, func(o *subscription) bool { return o == s })
}
