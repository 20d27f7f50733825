package handover

import (
	"fmt"
	"time"
)

// Times of the protocol: the same as in packages journal and seal.
const (
	flushEvery  = 500 * time.Millisecond
	renewEvery  = 5 * time.Second
	silence     = 3 * renewEvery
	spoolAfter  = 5 * time.Second
	followEvery = 5 * time.Second
	watchEvery  = 2 * time.Second
)

// shardJournal journals a shard from the start of its capture to its release. It models
// package journal.
//
//	arrive ─▶ fresh ─▶ pending: the row under way ─▶ acked ─▶ released, when sealed
//	            ▲──────────── revert ──┘└─▶ spool
type shardJournal struct {
	engine       *engine
	shard        int
	writer       writer
	sub          *subscription
	captureBegan time.Duration // when capture began, by the world's clock
	sealer       sealer

	fresh   []sample
	pending *row
	acked   []row // acknowledged, but not sealed

	claim     claim
	claimed   bool          // the claim was acknowledged once
	stamp     time.Duration // of the latest write of the claim
	renewed   time.Duration // when the latest acknowledged claim was sent
	sent      int           // latest position under which a row was sent
	ackedTo   int           // position up to which all rows are acknowledged
	saved     time.Duration // all samples that arrived by then, by a right clock, are acknowledged
	failing   time.Duration // when the store began to fail; -1: it does not fail
	spooling  bool
	termAcked int // the term in the latest acknowledged claim

	released bool // capture has ended
	done     bool // flushed and closed
}

// String names the shardJournal in traces.
func (l *shardJournal) String() string { return fmt.Sprintf("%v/w%d", l.engine, l.writer) }

func newShardJournal(e *engine, shard int) *shardJournal {
	l := &shardJournal{engine: e, shard: shard, writer: e.newWriter(shard), captureBegan: e.w.now, failing: -1, saved: e.earliest()}
	l.claim.writer = l.writer
	l.sealer.shardJournal = l
	return l
}

func (l *shardJournal) store() *table { return &l.engine.w.storage.tables[l.shard] }

func (l *shardJournal) tracef(format string, args ...any) {
	if l.engine.w.cfg.Trace {
		l.engine.w.tracef(l.shard, "%v %s", l, fmt.Sprintf(format, args...))
	}
}

// arrive adds a captured sample.
func (l *shardJournal) arrive(s sample) {
	w := l.engine.w
	w.oracle.arrived(l.shard, s.n)
	if w.cfg.Fault == OwnTime {
		s.at = l.engine.clock()
	}
	l.engine.restamp(&s)
	l.fresh = append(l.fresh, s)
	l.shed()
}

// shed drops the oldest samples that are not in a row, as long as there are too many of them.
func (l *shardJournal) shed() {
	for len(l.fresh) > l.engine.memory {
		l.engine.w.count(Shed)
		l.tracef("drops update %d because memory is short", l.fresh[0].n)
		l.engine.w.oracle.shed(l.shard, l.fresh[0].n)
		l.fresh = l.fresh[1:]
	}
}

// again calls run after a pause by the engine's clock.
func (l *shardJournal) again(pause time.Duration) { l.engine.after(pause, l.run) }

// run performs the next action. One action runs at a time.
func (l *shardJournal) run() {
	e := l.engine
	unsaved := l.pending != nil || len(l.fresh) > 0
	switch {
	case l.done:
	case l.spooling:
		l.spool()
	case !l.claimed:
		l.open(unsaved)
	case l.released && !unsaved && (!e.spooled(l.shard) || e.w.cfg.Fault == CloseSpooled):
		l.finish()
	case e.clock()-l.renewed > renewEvery && !unsaved || l.claim.term != l.termAcked:
		l.putClaim(func() { l.again(flushEvery / 2) })
	case unsaved:
		l.sendRow()
	default:
		l.again(flushEvery)
	}
}

// open claims the shard. If the shard was released and no sample ever arrived, it closes the
// shardJournal instead.
func (l *shardJournal) open(unsaved bool) {
	switch {
	case l.released && l.claim.epoch == 0 && !unsaved:
		l.close()
	case l.claim.epoch == 0:
		l.rank()
	default:
		l.putClaim(func() { l.again(0) })
	}
}

// failed tries again after a pause, or switches to the spool after a longer outage.
func (l *shardJournal) failed(do func()) {
	e := l.engine
	if l.failing < 0 {
		l.failing = e.clock()
	}
	if e.pod.spool != nil && e.clock()-l.failing >= spoolAfter && !l.claim.closed {
		l.spooling = true
	}
	if l.spooling {
		l.again(0)
		return
	}
	e.after(e.w.between(50*time.Millisecond, 2*time.Second), do)
}

// rank sets the epoch of the claim above the epochs of all existing claims of the shard.
func (l *shardJournal) rank() {
	l.engine.claims(l.shard, func(claims []claim, ok bool) {
		if !ok {
			l.failed(l.run)
			return
		}
		for _, c := range claims {
			l.claim.epoch = max(l.claim.epoch, c.epoch)
		}
		l.claim.epoch++
		l.run()
	})
}

// putClaim writes the current claim, and tries again until the store acknowledges it.
func (l *shardJournal) putClaim(then func()) {
	e, t := l.engine, l.store()
	now := e.clock()
	l.touch(now)
	c := l.claim
	stamp := l.newStamp()
	e.call(true, func() {
		if e.w.cfg.Trace {
			l.tracef("claim of %v stands: alive %v closed %v last %d term %d", l, c.alive, c.closed, c.last, c.term)
		}
		t.putClaim(c, stamp)
	}, func(ok bool) {
		if !ok {
			l.failed(func() { l.putOrRun(then) })
			return
		}
		l.failing, l.renewed, l.termAcked = -1, now, c.term
		l.claimed = true
		then()
	})
}

// touch updates the claim's sign of life, and the time up to which all samples are saved.
func (l *shardJournal) touch(now time.Duration) {
	l.claim.alive, l.claim.saved = now, l.engine.earliest()
	if l.engine.w.cfg.Fault == LateMark {
		return
	}
	if l.pending != nil || len(l.fresh) > 0 || len(l.sub.onWay) > 0 {
		l.claim.saved = l.saved
	}
	l.claim.saved = l.engine.spooledSince(l.shard, l.claim.saved)
}

// putOrRun tries to write the claim again, unless the shardJournal is spooling.
func (l *shardJournal) putOrRun(then func()) {
	if l.spooling {
		l.run()
		return
	}
	l.putClaim(then)
}

// newStamp returns the stamp for the next write of the claim. Stamps always rise.
func (l *shardJournal) newStamp() time.Duration {
	l.stamp = max(l.stamp+1, l.engine.clock(), 1)
	return l.stamp
}

// sendRow sends the row under way again, or a new row with all fresh samples.
func (l *shardJournal) sendRow() {
	if l.pending == nil {
		l.sent++
		saved := l.engine.earliest()
		if len(l.sub.onWay) > 0 {
			saved = l.saved
		}
		l.pending = &row{l.writer, l.sent, l.engine.spooledSince(l.shard, saved), l.fresh}
		l.fresh = nil
	}
	e, t, r := l.engine, l.store(), l.pending
	if e.w.cfg.Trace {
		l.tracef("sends row %d: %v", r.at, list(r.samples))
	}
	if e.w.cfg.Fault == TwoRowsUnderWay && len(r.samples) > 1 {
		l.sendTwo()
		return
	}
	e.call(true, func() { t.putRow(*r) }, func(ok bool) {
		switch {
		case !ok:
			l.failed(l.run)
		case e.clock()-l.renewed > 2*renewEvery && e.w.cfg.Fault != UncheckedClaim:
			// Other engines may have declared this writer dead and dropped its claim.
			e.w.count(Renewals)
			if !t.claim(l.writer).stands() {
				e.w.count(Zombies)
			}
			l.putClaim(l.ack)
		default:
			l.ack()
		}
	})
}

// sendTwo sends half of a row's samples under the next position, at the same time.
func (l *shardJournal) sendTwo() {
	e, t, r := l.engine, l.store(), l.pending
	l.sent++
	half := len(r.samples) / 2
	parts := []row{{l.writer, r.at, r.saved, r.samples[:half]}, {l.writer, l.sent, r.saved, r.samples[half:]}}
	missing := len(parts)
	for _, p := range parts {
		var try func()
		try = func() {
			e.call(true, func() { t.putRow(p) }, func(ok bool) {
				if !ok {
					e.after(time.Second, try)
				} else if missing--; missing == 0 {
					l.pending.at = l.sent
					l.ack()
				}
			})
		}
		try()
	}
}

// ack records that the row under way counts as acknowledged.
func (l *shardJournal) ack() {
	r := l.pending
	if r == nil {
		l.run()
		return
	}
	l.engine.w.count(Rows)
	if l.engine.w.cfg.Trace {
		l.tracef("row %d is acknowledged", r.at)
	}
	l.engine.w.oracle.acked(l.shard, r.samples)
	l.failing, l.pending, l.ackedTo, l.saved = -1, nil, r.at, r.saved
	if l.engine.w.cfg.Fault != EarlyForget {
		l.acked = append(l.acked, *r)
	}
	switch {
	case l.released:
		l.again(0)
	case l.engine.clock()-l.renewed > renewEvery && l.engine.w.cfg.Fault != UncheckedClaim:
		l.putClaim(func() { l.again(flushEvery / 2) })
	default:
		l.again(flushEvery)
	}
}

// giveUp releases the rows up to a sealed position.
func (l *shardJournal) giveUp(to int) {
	for len(l.acked) > 0 && l.acked[0].at <= to {
		l.acked = l.acked[1:]
	}
}

// finish closes the claim.
func (l *shardJournal) finish() {
	l.claim.closed, l.claim.last, l.claim.term = true, l.ackedTo, 0
	l.putClaim(l.close)
}

// close ends the shardJournal when no work is left.
func (l *shardJournal) close() {
	l.tracef("is closed")
	l.done = true
	l.acked = nil
	l.sealer.end()
	l.engine.forget(l)
}

// unsaved returns the samples that are neither in an acknowledged row nor in the spool.
func (l *shardJournal) unsaved() (out []sample) {
	if l.pending != nil {
		out = append(out, l.pending.samples...)
	}
	return append(out, l.fresh...)
}

// recent returns all samples in memory.
func (l *shardJournal) recent() (out []sample) {
	for _, r := range l.acked {
		out = append(out, r.samples...)
	}
	return append(out, l.unsaved()...)
}

// list prints samples as their numbers.
type list []sample

// String implements fmt.Stringer.
func (l list) String() string {
	var out []int
	for _, s := range l {
		out = append(out, s.n)
	}
	return fmt.Sprint(out)
}
