package handover

import (
	"fmt"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
	"varve.dev/varve/engine/clock"
)

// Services from which a partition can cut off an engine.
const (
	cutIOC = iota
	cutStore
	cutAPI
	cuts
)

// pod is the pod of an engine. It holds the state that survives a restart of the container.
type pod struct {
	w        *world
	index    int
	name     string
	gone     bool // the node is lost; the pod object may still exist
	deleted  bool // the pod object no longer exists
	deleting bool // the pod was requested to terminate
	engine   *engine
	lives    int
	cut      [cuts]time.Duration // when each partition ends
	lease    int                 // number of the latest renewal in the API server
	saved    []*saved            // by shard: the agent's state on disk
	spool    *spool              // nil: none
}

// engine is one process of a pod.
type engine struct {
	w          *world
	pod        *pod
	alive      bool
	stalled    time.Duration // when the stall ends
	offset     time.Duration
	rate       float64
	verdict    *clock.Clock    // compares the clock with the store's
	memory     int             // maximum number of samples that wait in a shardJournal
	checkpoint time.Duration   // interval between checkpoints
	held       []*shardJournal // by shard
	leaving    []*shardJournal
	tasks      []*task // by shard
	draining   bool
	ending     bool
	renewals   int // number of renewals of the Lease
}

// String names the process in traces.
func (e *engine) String() string { return fmt.Sprintf("%s.%d", e.pod.name, e.pod.lives) }

// launch starts a process in a pod.
func (p *pod) launch() {
	w := p.w
	if p.gone || p.deleted || p.engine != nil {
		return
	}
	p.lives++
	e := &engine{
		w: w, pod: p, alive: true, rate: w.rate(), offset: w.skew(),
		memory: w.memory, checkpoint: w.between(5*time.Second, 25*time.Second),
		held: make([]*shardJournal, w.shards), tasks: make([]*task, w.shards),
	}
	p.engine = e
	e.setClock()
	w.engines = append(w.engines, e)
	w.tracef(-1, "%v starts, clock %v, rate %.2f", e, e.offset, e.rate)
	e.restore()
	e.after(w.between(0, time.Second), e.step)
	e.after(w.between(0, time.Second), e.renewLease)
	if p.spool != nil {
		p.spool.start(e)
	}
}

// clock returns the time by the engine's clock.
func (e *engine) clock() time.Duration {
	return e.offset + e.elapsed()
}

// elapsed returns the time since the start of the run, by the rate of the engine's clock.
func (e *engine) elapsed() time.Duration { return time.Duration(float64(e.w.now) * e.rate) }

// after calls do after a time by the engine's clock. If the engine is stalled then, it calls
// do after the stall. If the engine is dead, it does not call do.
func (e *engine) after(d time.Duration, do func()) {
	e.w.after(time.Duration(float64(d)/e.rate), func() { e.wake(do) })
}

func (e *engine) wake(do func()) {
	switch {
	case !e.alive:
	case e.w.now < e.stalled:
		e.w.after(e.stalled-e.w.now+e.w.between(0, 100*time.Millisecond), func() { e.wake(do) })
	default:
		do()
	}
}

func (e *engine) isCut(from int) bool { return e.w.now < e.pod.cut[from] }

// call sends a message to the store.
func (e *engine) call(write bool, do func(), then func(ok bool)) {
	e.w.send(link{
		open:    func() bool { return !e.isCut(cutStore) && e.w.now >= e.w.storage.awayUntil },
		do:      do,
		back:    func(d time.Duration, ok bool) { e.after(d, func() { then(ok) }) },
		repeats: write,
	})
}

// claims reads the claims of a shard.
func (e *engine) claims(shard int, then func([]claim, bool)) {
	var claims []claim
	var shown time.Duration // by the clock of the store
	asked := e.elapsed()
	e.call(false, func() { claims, shown = e.w.storage.tables[shard].standing(), e.w.zero()+e.w.now }, func(ok bool) {
		if ok {
			e.compareClock(shown, asked)
		}
		then(claims, ok)
	})
}

// callAPI sends a message to the API server.
func (e *engine) callAPI(do func()) {
	e.w.send(link{
		open: func() bool { return !e.isCut(cutAPI) && e.w.now >= e.w.api.awayUntil },
		do:   do,
		back: func(time.Duration, bool) {},
	})
}

// newWriter returns an unused writer ID.
func (e *engine) newWriter(shard int) writer {
	if e.w.cfg.Fault == SameWriter {
		return writer(1000*(e.pod.index+1) + shard)
	}
	return e.w.nextWriter()
}

// owns reports whether a writer belongs to a shardJournal of this process or to its spool.
func (e *engine) owns(w writer) bool {
	for _, l := range e.shardJournals() {
		if l.writer == w {
			return true
		}
	}
	return e.pod.spool != nil && e.pod.spool.owns(w)
}

// shardJournals returns the shardJournals of all held shards, and of released shards that
// are not closed yet.
func (e *engine) shardJournals() (out []*shardJournal) {
	for _, l := range e.held {
		if l != nil {
			out = append(out, l)
		}
	}
	return append(out, e.leaving...)
}

// marks reports whether the death of a writer leaves a gap in the samples of a shardJournal.
// There is no gap if the shardJournal has been connected since from, at the latest.
func (e *engine) marks(l *shardJournal, from time.Duration) bool {
	return !l.sub.connected || e.latest()-(e.clock()-l.sub.since) > from
}

// startCapture starts the capture of a shard.
func (e *engine) startCapture(shard int) *shardJournal {
	l := newShardJournal(e, shard)
	e.held[shard] = l
	l.tracef("starts to capture")
	l.sub = e.w.iocs[shard].subscribe(l)
	l.again(0)
	return l
}

// release ends the capture of a shard. The shardJournal then makes its samples durable.
func (e *engine) release(shard int) {
	l := e.held[shard]
	l.tracef("is released")
	e.w.iocs[shard].unsubscribe(l.sub)
	e.w.oracle.left(l, true)
	e.held[shard] = nil
	e.leaving = append(e.leaving, l)
	l.released = true
	l.sealer.follow()
}

// forget removes a closed shardJournal.
func (e *engine) forget(l *shardJournal) {
	for i, o := range e.leaving {
		if o == l {
			e.leaving = append(e.leaving[:i:i], e.leaving[i+1:]...)
		}
	}
}

// open reports whether the engine has a shardJournal or spooled samples of a shard.
func (e *engine) open(shard int) bool {
	for _, l := range e.shardJournals() {
		if l.shard == shard {
			return true
		}
	}
	return e.pod.spool != nil && e.pod.spool.waiting(shard)
}

// die kills a process at once.
func (e *engine) die() {
	e.alive = false
	e.pod.engine = nil
	for _, l := range e.shardJournals() {
		if !l.released {
			e.w.iocs[l.shard].end(l.sub)
			e.w.oracle.left(l, false)
		}
		l.sealer.follow()
		for _, s := range l.unsaved() {
			e.w.oracle.dropped(l.shard, s.n)
		}
		l.tracef("is dead; unsaved: %v", list(l.unsaved()))
	}
}

// stop ends a process in order. The process stops the capture, and then has 20 s to flush
// its samples and close its claims.
func (e *engine) stop() {
	if e.ending {
		return
	}
	e.ending = true
	e.w.tracef(-1, "%v stops", e)
	for shard, l := range e.held {
		if l != nil {
			e.release(shard)
		}
	}
	limit := e.clock() + 20*time.Second
	var wait func()
	wait = func() {
		if len(e.leaving) == 0 || e.clock() >= limit {
			e.die()
			e.pod.remove()
			return
		}
		e.after(200*time.Millisecond, wait)
	}
	wait()
}

// remove deletes the pod and its data on the node.
func (p *pod) remove() {
	if p.engine != nil {
		p.engine.die()
	}
	if p.spool != nil && !p.gone {
		p.spool.lose()
	}
	p.gone, p.deleted = true, true
}

// renewLease renews the Lease every two seconds.
func (e *engine) renewLease() {
	e.renewals++
	n := e.pod.lives*1_000_000 + e.renewals
	e.callAPI(func() { e.pod.lease = max(e.pod.lease, n) })
	e.after(2*time.Second, e.renewLease)
}

// channels is the number of channels of a shard, which connect and disconnect together. In the
// model they are one PV.
const channels = 10

// steadyAfter is how long a channel must be connected or not, to count as steady or unreachable.
const steadyAfter = 8 * time.Second

// sight returns how much of its shard a shardJournal reaches.
func (l *shardJournal) sight() placement.Sight {
	s := placement.Sight{Known: true, Channels: channels}
	steady := l.engine.clock()-l.sub.changed >= steadyAfter
	if l.sub.connected {
		s.Connected, s.Hosts = channels, []placement.Host{{Name: fmt.Sprint("ioc", l.shard), Channels: channels}}
	}
	switch {
	case steady && l.sub.connected:
		s.Steady = channels
	case steady:
		s.Unreachable = channels
	}
	return s
}

// phases calls do with the phase of each shard of an engine, for the engine's report.
func (e *engine) phases(do func(shard int, p v1alpha1.ShardPhase, orphaned, sealing bool)) {
	for shard, t := range e.tasks {
		if t != nil && t.phase != "" {
			do(shard, t.phase, t.decision.Orphaned, e.held[shard] != nil && e.held[shard].sealer.term != nil)
		}
	}
}
