package handover

import "time"

// work reads the claims. If another writer has a higher term, the sealer gives up leadership.
// Otherwise it seals. If all is set, as at a checkpoint, it seals all rows. If not, it seals
// only the rows of closed and dead writers.
func (s *sealer) work(all bool) {
	l, t := s.shardJournal, s.term
	e := l.engine
	t.working = true
	if t.looked = e.clock(); all {
		t.sealed = t.looked
		e.w.count(Checkpoints)
	}
	done := func(bool) { t.working = false }
	e.claims(l.shard, func(claims []claim, ok bool) {
		if !ok || t.over {
			done(false)
			return
		}
		s.watch(claims)
		if s.higher(claims) {
			l.tracef("gives up leadership")
			s.follow()
			l.claim.term = 0
			return
		}
		for _, c := range claims {
			if all && c.writer != l.writer && c.term > 0 && !c.closed && !s.silent(c) {
				e.w.count(TwoSealers)
			}
		}
		s.giveUp(claims)
		s.adopt(t, claims, all, func(ok bool) {
			if ok && all && !t.over {
				s.sealOwn(t, done)
				return
			}
			done(ok)
		})
	})
}

// adopt seals the rows of other writers, one writer after the other. It drops the claims of
// writers that are closed or dead.
func (s *sealer) adopt(t *term, claims []claim, all bool, then func(ok bool)) {
	if len(claims) == 0 || t.over {
		then(!t.over)
		return
	}
	l, c := s.shardJournal, claims[0]
	next := func(ok bool) {
		if !ok {
			then(false)
			return
		}
		s.adopt(t, claims[1:], all, then)
	}
	dead := s.isDead(c)
	if c.writer == l.writer || !all && !c.closed && !dead {
		next(true)
		return
	}
	var rows []row
	l.engine.call(false, func() { rows = l.store().after(c.writer, c.sealed) }, func(ok bool) {
		if !ok || t.over {
			then(false)
			return
		}
		s.adoptRows(t, c, rows, func(ok bool) {
			if !ok || !c.closed && !dead {
				next(ok)
				return
			}
			s.dismiss(t, c, rows, next)
		})
	})
}

// isDead reports whether the sealer declares a writer dead. The writer has not closed its
// claim.
func (s *sealer) isDead(c claim) bool {
	if s.shardJournal.engine.w.cfg.Fault == HastySealer && c.term < s.shardJournal.claim.term {
		return true
	}
	return !c.closed && !s.shardJournal.engine.owns(c.writer) && s.silent(c)
}

// adoptRows seals rows of another writer.
func (s *sealer) adoptRows(t *term, c claim, rows []row, then func(ok bool)) {
	if len(rows) == 0 {
		then(true)
		return
	}
	var samples []sample
	for _, r := range rows {
		samples = append(samples, r.samples...)
	}
	to := rows[len(rows)-1].at
	s.shardJournal.engine.w.counts[Adopted] += len(rows)
	s.shardJournal.tracef("seals w%d up to %d: %v", c.writer, to, list(samples))
	s.seal(t, c.writer, to, samples, then)
}

// sealOwn seals the acknowledged rows of the own shardJournal.
func (s *sealer) sealOwn(t *term, then func(ok bool)) {
	l := s.shardJournal
	var samples []sample
	for _, r := range l.acked {
		samples = append(samples, r.samples...)
	}
	to := l.ackedTo
	if to == 0 {
		then(true)
		return
	}
	l.tracef("seals its own rows up to %d: %v", to, list(samples))
	s.seal(t, l.writer, to, samples, then)
}

// seal writes blocks. When the store has acknowledged them, it raises the sealed position.
func (s *sealer) seal(t *term, of writer, to int, samples []sample, then func(ok bool)) {
	e, store := s.shardJournal.engine, s.shardJournal.store()
	raise := func(then func(ok bool)) {
		e.call(true, func() { store.seal(of, to) }, then)
	}
	if e.w.cfg.Fault == EarlySeal {
		raise(func(bool) {})
	}
	s.write(t, samples, func(ok bool) {
		if !ok || t.over {
			then(false)
			return
		}
		if of == s.shardJournal.writer {
			s.shardJournal.giveUp(to)
		}
		raise(then)
	})
}

// write adds samples that have not expired to the open block and writes the block to the store. When the block is
// full, it continues with a new one.
func (s *sealer) write(t *term, samples []sample, then func(ok bool)) {
	e, store := s.shardJournal.engine, s.shardJournal.store()
	if samples = e.keep(samples); len(samples) == 0 {
		then(true)
		return
	}
	room := min(len(samples), fullBlock-len(t.open))
	t.open = append(t.open, samples[:room]...)
	t.stamp++
	b := block{blockKey: blockKey{t.blocks, t.n}, stamp: t.stamp, samples: t.open[:len(t.open):len(t.open)]}
	ttl := e.ttl(b.samples[0].at)
	e.call(true, func() { b.until = e.w.now + ttl; store.putBlock(b) }, func(ok bool) {
		if !ok || t.over {
			// The store may or may not have the block, so a new block begins.
			t.n, t.open = t.n+1, nil
			then(false)
			return
		}
		if len(t.open) >= fullBlock {
			t.n, t.open = t.n+1, nil
		}
		s.write(t, samples[room:], then)
	})
}

// dismiss drops the claim of a closed or dead writer. If the death may have left a gap, it
// writes a mark first.
func (s *sealer) dismiss(t *term, c claim, rows []row, then func(ok bool)) {
	l := s.shardJournal
	e := l.engine
	to := c.sealed
	if len(rows) > 0 {
		to = rows[len(rows)-1].at
	}
	if c.closed && to < c.last {
		then(true) // its last rows are not readable yet
		return
	}
	from := c.saved
	if len(rows) > 0 {
		from = max(from, rows[len(rows)-1].saved)
	}
	if c.closed || e.w.cfg.Fault == SilentDeath || !e.marks(l, from) {
		s.drop(t, c, then)
		return
	}
	m := mark{from, max(from, e.latest())}
	l.tracef("marks the death of w%d: from %v to %v", c.writer, m.from, m.to)
	e.call(true, func() { l.store().marks = append(l.store().marks, m) }, func(ok bool) {
		if !ok || t.over {
			then(false)
			return
		}
		s.drop(t, c, then)
	})
}

// drop drops a claim in the state in which the sealer read it. Up to 8 s may pass before
// the drop, as after much sealing.
func (s *sealer) drop(t *term, c claim, then func(ok bool)) {
	e, store := s.shardJournal.engine, s.shardJournal.store()
	e.after([]time.Duration{0, e.w.between(0, 8*time.Second)}[e.w.rng.IntN(2)], func() {
		if t.over {
			then(false)
			return
		}
		upTo := c.stamp
		if e.w.cfg.Fault == ClockDrop {
			upTo = e.clock()
		}
		e.call(true, func() {
			if e.w.cfg.Fault == BlindDrop {
				upTo = max(upTo, store.claim(c.writer).written)
			}
			if dropped := store.dropClaim(c.writer, upTo); dropped && !c.closed {
				s.shardJournal.tracef("drops the claim of w%d, which it declares dead", c.writer)
				e.w.count(DeadClaims)
			}
		}, then)
	})
}
