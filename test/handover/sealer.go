package handover

import "time"

// sealer seals the shard of a shardJournal, or follows another engine that seals it. It
// models package seal.
//
//	claims ─▶ find the leader ─▶ rows of others ─▶ blocks ─▶ their positions ─▶ claims dropped
//	                           └▶ own rows ──────▶ blocks ─▶ own position, memory released
//
// A writer seals if the term in its claim is above zero. The live writer with the highest
// term is the leader. If terms are equal, the greater writer ID wins.
type sealer struct {
	shardJournal *shardJournal
	ordered      bool // ordered to lead, and does not lead yet
	term         *term
	watched      []life
	alone        time.Duration // since when the sealer has seen no live leader; -1: it sees one
	ticking      bool
}

// term is a sealer's term as leader. It tracks the blocks that the sealer writes in the term.
type term struct {
	over    bool
	blocks  writer
	n       int // number of the open block
	stamp   int
	open    []sample
	sealed  time.Duration // the latest checkpoint
	looked  time.Duration
	working bool
}

// life is the latest sign of life of a writer, and when it was first seen.
type life struct {
	writer writer
	sign   time.Duration
	seen   time.Duration // by the observer's clock
}

// fullBlock is the number of samples in a full block.
const fullBlock = 40

// order orders the sealer to lead or to follow. Callers call it only when the order changes.
func (s *sealer) order(seal bool) {
	s.ordered = seal
	if !s.ticking {
		s.ticking, s.alone = true, -1
		s.tick()
	}
}

// end ends the current term.
func (s *sealer) end() { s.follow() }

func (s *sealer) follow() {
	if s.term != nil {
		s.term.over = true
		s.term = nil
	}
}

// tick does the work that is due while the engine holds the shard.
func (s *sealer) tick() {
	l := s.shardJournal
	e := l.engine
	if l.released || l.done {
		s.follow()
		l.claim.term = 0
		return
	}
	switch now := e.clock(); {
	case !l.claimed:
	case s.ordered:
		s.readClaims(s.takeLeadership)
		return
	case l.claim.term > 0 && s.term == nil:
		if l.termAcked == l.claim.term {
			s.begin()
		}
	case s.term == nil:
		e.after(followEvery, func() { s.readClaims(s.followOn) })
		return
	case s.term.working:
	case now-s.term.sealed >= e.checkpoint:
		s.work(true)
	case now-s.term.looked >= watchEvery && s.watching():
		s.work(false)
	}
	e.after(time.Second, s.tick)
}

// readClaims reads the claims of the shard and passes them to with. It schedules the next tick
// in any case.
func (s *sealer) readClaims(with func([]claim)) {
	s.shardJournal.engine.claims(s.shardJournal.shard, func(claims []claim, ok bool) {
		if ok && !s.shardJournal.released {
			with(claims)
		}
		s.shardJournal.engine.after(time.Second, s.tick)
	})
}

// takeLeadership claims leadership: it raises the own term above all others.
func (s *sealer) takeLeadership(claims []claim) {
	l := s.shardJournal
	s.ordered = false
	for _, c := range claims {
		l.claim.term = max(l.claim.term, c.term)
	}
	l.claim.term++
	l.engine.w.count(RolesPassed)
	l.tracef("takes leadership with term %d", l.claim.term)
	s.watch(claims)
}

func (s *sealer) begin() {
	w := s.shardJournal.engine.w
	s.term = &term{blocks: w.nextWriter(), sealed: s.shardJournal.engine.clock() - s.shardJournal.engine.checkpoint}
	if w.cfg.Fault == SameBlocks {
		s.term.blocks = -1 - writer(s.shardJournal.engine.pod.index)
	}
}

// followOn releases the rows that another engine has sealed. It takes leadership if it has
// seen no live leader for long enough.
func (s *sealer) followOn(claims []claim) {
	l := s.shardJournal
	now := l.engine.clock()
	s.watch(claims)
	s.giveUp(claims)
	if s.higher(claims) {
		s.alone = -1
		return
	}
	if s.alone < 0 {
		s.alone = now
	}
	if now-s.alone >= silence {
		s.alone = -1
		s.takeLeadership(claims)
	} else if l.engine.w.chance(0.05) { // memory is short, and duplicates are better than losses
		s.assist()
	}
}

// assist assists the leader: a follower seals its own rows.
func (s *sealer) assist() {
	w := s.shardJournal.engine.w
	w.count(TwoSealers)
	s.sealOwn(&term{blocks: w.nextWriter()}, func(bool) {})
}

func (s *sealer) giveUp(claims []claim) {
	for _, c := range claims {
		if c.writer == s.shardJournal.writer {
			s.shardJournal.giveUp(c.sealed)
		}
	}
}

// higher reports whether the claim of a live writer has a higher term than the own claim, or
// an equal term and a greater writer ID.
func (s *sealer) higher(claims []claim) bool {
	own := s.shardJournal.claim
	for _, c := range claims {
		if c.writer != own.writer && c.term > 0 && !c.closed && !s.silent(c) &&
			(c.term > own.term || c.term == own.term && c.writer > own.writer) {
			return true
		}
	}
	return false
}

// watch updates the signs of life from claims.
func (s *sealer) watch(claims []claim) {
	old := s.watched
	s.watched = nil
	now := s.shardJournal.engine.clock()
	for _, c := range claims {
		if c.writer == s.shardJournal.writer || c.closed {
			continue
		}
		l := life{c.writer, c.alive, now}
		for _, o := range old {
			if o.writer == c.writer && o.sign == c.alive {
				l.seen = o.seen
			}
		}
		s.watched = append(s.watched, l)
	}
}

func (s *sealer) watching() bool { return len(s.watched) > 0 }

// silent reports whether a writer has given no sign of life for so long that the sealer
// declares it dead.
func (s *sealer) silent(c claim) bool {
	for _, l := range s.watched {
		if l.writer == c.writer && l.sign == c.alive {
			return s.shardJournal.engine.clock()-l.seen >= silence
		}
	}
	return false
}
