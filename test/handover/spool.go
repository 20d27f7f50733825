package handover

import (
	"slices"
	"time"
)

// linger is how long the spool keeps a sent segment if other engines may have declared its
// writer dead.
const linger = time.Minute

// spool keeps rows on the disk of a pod while the store is unavailable. It survives a
// restart of the container. It models package spool.
//
//	shardJournal ── put ──▶ segment ── drain: claim ─▶ rows in order ─▶ close ──▶ store
type spool struct {
	pod      *pod
	segments []*segment // the oldest first
}

// segment is a file with rows of one shard and one writer.
type segment struct {
	shard   int
	writer  writer
	rows    []row
	sent    int // number of acknowledged rows
	full    bool
	claim   claim
	claimed time.Duration // when the claim was last acknowledged; -1: never
	stamp   time.Duration // of the latest write of the claim: it outlives the process
	late    bool          // other engines may drop the claim, or have dropped it
	owner   *engine       // engine that wrote it
	counted int           // number of rows that count as acknowledged
	drained bool
}

// spool writes the fresh samples to the spool. It then tries the store: once the store
// answers, the shardJournal leaves the spool.
func (l *shardJournal) spool() {
	e, p := l.engine, l.engine.pod
	if l.pending != nil { // the store may or may not have this row
		l.fresh = append(l.pending.samples, l.fresh...)
		l.pending = nil
		if e.w.cfg.Fault == OldPosition {
			l.sent--
		}
	}
	if len(l.fresh) > 0 {
		e.w.count(Spooled)
		l.tracef("spools %v", list(l.fresh))
		p.spool.put(e, l)
		if l.fresh = nil; len(l.sub.onWay) == 0 {
			l.saved = e.earliest()
		}
	}
	now := e.clock()
	if l.claim.epoch == 0 {
		e.claims(l.shard, func(_ []claim, ok bool) {
			if ok {
				l.spooling, l.failing = false, -1
			}
			l.again(flushEvery)
		})
		return
	}
	l.touch(now)
	c, stamp, t := l.claim, l.newStamp(), l.store()
	e.call(true, func() { t.putClaim(c, stamp) }, func(ok bool) {
		if ok {
			l.spooling, l.failing = false, -1
			l.claimed, l.renewed, l.termAcked = true, now, c.term
		}
		l.again(flushEvery)
	})
}

// put adds a row. It is durable on the disk at once.
func (s *spool) put(e *engine, l *shardJournal) {
	var g *segment
	shard := l.shard
	for _, o := range s.segments {
		if o.shard == shard && !o.full && o.owner == e {
			g = o
		}
	}
	if g == nil {
		g = &segment{shard: shard, writer: e.w.nextWriter(), claimed: -1, owner: e}
		g.claim.writer = g.writer
		s.segments = append(s.segments, g)
	}
	g.rows = append(g.rows, row{g.writer, len(g.rows) + 1, l.saved, l.fresh})
}

// start starts to send the segments on the disk when a process starts.
func (s *spool) start(e *engine) {
	for _, g := range s.segments {
		if g.owner != e { // the progress of the previous process is not known
			g.full, g.sent, g.late, g.claimed, g.drained = true, 0, true, -1, false
			e.w.counts[Replayed] += len(g.rows)
		}
	}
	e.after(time.Second, func() { s.drain(e) })
}

// drain sends the oldest segment, and then the next one.
func (s *spool) drain(e *engine) {
	again := func() { e.after(e.w.between(200*time.Millisecond, 2*time.Second), func() { s.drain(e) }) }
	i := slices.IndexFunc(s.segments, func(g *segment) bool { return !g.drained })
	if i < 0 {
		again()
		return
	}
	g := s.segments[i]
	s.putClaim(e, g, func(ok bool) {
		if !ok {
			again()
			return
		}
		g.full = true
		s.send(e, g, again)
	})
}

// putClaim writes the claim of a segment. Before the first write it sets the claim's epoch.
func (s *spool) putClaim(e *engine, g *segment, then func(ok bool)) {
	put := func() {
		now := e.clock()
		g.late = g.late || g.claimed >= 0 && now-g.claimed > 2*renewEvery
		g.claim.alive, g.claim.saved = now, e.earliest()
		if g.sent < len(g.rows) {
			g.claim.saved = g.rows[g.sent].saved
		}
		g.stamp = max(g.stamp+1, now, 1)
		c, stamp, counted := g.claim, g.stamp, g.sent
		e.call(true, func() { e.w.storage.tables[g.shard].putClaim(c, stamp) }, func(ok bool) {
			if ok {
				g.claimed = now
				g.count(e.w, counted)
			}
			then(ok)
		})
	}
	if g.claim.epoch > 0 {
		put()
		return
	}
	e.claims(g.shard, func(claims []claim, ok bool) {
		if !ok {
			then(false)
			return
		}
		for _, c := range claims {
			g.claim.epoch = max(g.claim.epoch, c.epoch)
		}
		g.claim.epoch++
		put()
	})
}

// send sends the remaining rows and closes the claim. It then removes the segment, or keeps
// it for a while if others may have dropped its claim.
func (s *spool) send(e *engine, g *segment, then func()) {
	switch {
	case g.sent == len(g.rows):
		g.claim.closed, g.claim.last = true, g.sent
		s.putClaim(e, g, func(ok bool) {
			if ok {
				s.sent(e, g)
			}
			then()
		})
	case e.clock()-g.claimed > renewEvery:
		s.putClaim(e, g, func(ok bool) {
			if !ok {
				then()
				return
			}
			s.send(e, g, then)
		})
	default:
		r := g.rows[g.sent]
		e.call(true, func() { e.w.storage.tables[g.shard].putRow(r) }, func(ok bool) {
			if !ok {
				then()
				return
			}
			if g.sent++; e.clock()-g.claimed <= 2*renewEvery {
				g.count(e.w, g.sent)
			}
			s.send(e, g, then)
		})
	}
}

// count reports the rows that count as acknowledged to the oracle.
func (g *segment) count(w *world, rows int) {
	for ; g.counted < rows; g.counted++ {
		w.oracle.acked(g.shard, g.rows[g.counted].samples)
	}
}

// sent ends a segment. If an engine declared the segment's writer dead before the last rows
// arrived, it may still drop the claim after it was closed. In that case the spool writes the
// claim once more a minute later.
func (s *spool) sent(e *engine, g *segment) {
	g.drained = true
	remove := func() {
		s.segments = slices.DeleteFunc(s.segments, func(o *segment) bool { return o == g })
	}
	g.late = g.late || e.clock()-g.claimed > 2*renewEvery
	if !g.late {
		remove()
		return
	}
	var again func()
	again = func() {
		s.putClaim(e, g, func(ok bool) {
			if !ok {
				e.after(2*time.Second, again)
				return
			}
			remove()
		})
	}
	e.after(linger, again)
}

// waiting reports whether the spool has unsent samples of a shard.
func (s *spool) waiting(shard int) bool {
	return slices.ContainsFunc(s.segments, func(g *segment) bool { return g.shard == shard && g.sent < len(g.rows) })
}

// spooled reports whether samples of a shard wait in the engine's spool.
func (e *engine) spooled(shard int) bool {
	return e.pod.spool != nil && e.pod.spool.waiting(shard) && e.w.cfg.Fault != LateMark
}

// spooledSince returns a time at or before the arrival of the first waiting sample of a shard.
// It returns now if no sample waits in the spool.
func (e *engine) spooledSince(shard int, now time.Duration) time.Duration {
	if e.spooled(shard) {
		for _, g := range e.pod.spool.segments {
			if g.shard == shard && g.counted < len(g.rows) {
				now = min(now, g.rows[g.counted].saved)
			}
		}
	}
	return now
}

// recent returns the unsent samples of a shard.
func (s *spool) recent(shard int) (out []sample) {
	for _, g := range s.segments {
		if g.shard == shard {
			for _, r := range g.rows[g.sent:] {
				out = append(out, r.samples...)
			}
		}
	}
	return out
}

func (s *spool) owns(w writer) bool {
	return slices.ContainsFunc(s.segments, func(g *segment) bool { return g.writer == w })
}

// lose removes the disk with all segments.
func (s *spool) lose() {
	for _, g := range s.segments {
		for _, r := range g.rows[g.counted:] {
			for _, x := range r.samples {
				s.pod.w.oracle.dropped(g.shard, x.n)
			}
		}
	}
	s.segments = nil
}
