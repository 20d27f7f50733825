package placement

import (
	"slices"

	"varve.dev/varve/api/v1alpha1"
)

// readShard returns a shard as the input describes it.
func (p *plan) readShard(from *Shard) shard {
	s := shard{Shard: from, replicas: min(max(from.Replicas, 1), maxReplicas)}
	for _, slot := range from.Engines {
		if slot.Order == v1alpha1.OrderCapture {
			s.captures = append(s.captures, slot)
		} else {
			s.drains = append(s.drains, slot)
		}
	}
	s.moving = p.isMoving(&s)
	return s
}

// isMoving reports whether a shard moves between two living engines. It ignores an engine that
// does not drain in time.
func (p *plan) isMoving(s *shard) bool {
	captures, drains := 0, 0
	for _, slot := range s.captures {
		if p.living(slot.Name) != nil {
			captures++
		}
	}
	for _, slot := range s.drains {
		if p.living(slot.Name) != nil && !p.overdue(&slot, p.in.Limits.Join) {
			drains++
		}
	}
	return captures > s.replicas || drains > 0 && captures+drains > 1
}

// advanceMoves takes the next step of each move under way.
func (p *plan) advanceMoves() {
	for i := range p.shards {
		p.advanceShard(&p.shards[i])
	}
}

// advanceShard takes the next step of a shard's move, or gives the move up. It drains engines
// that are dead and drops engines that have no pod.
func (p *plan) advanceShard(s *shard) {
	captures, drains := s.captures, s.drains
	s.captures, s.drains = nil, nil
	for _, slot := range captures {
		if p.living(slot.Name) != nil {
			s.captures = append(s.captures, slot)
			continue
		}
		if s.lost.Name == "" {
			s.lost = slot
		}
		drains = append(drains, slot)
	}
	for _, slot := range drains {
		p.drain(s, slot)
	}
	if len(s.captures) == 0 {
		p.takeBack(s)
	} else if s.source() >= 0 {
		p.advanceMove(s)
	}
	p.drainOrphans(s)
	p.livingFirst(s)
	s.moving = p.isMoving(s)
}

// drain gives an engine the order to drain, unless it has drained.
func (p *plan) drain(s *shard, slot Slot) {
	if !p.hasDrained(s.Index, slot) {
		if slot.Order != v1alpha1.OrderDrain {
			slot.Order, slot.Ordered = v1alpha1.OrderDrain, p.in.Now
		}
		s.drains = append(s.drains, slot)
	}
}

// hasDrained reports whether an engine no longer holds any part of a shard. It waits for a
// report that agrees with the answer. Otherwise an older report would make the engine an
// orphan, which would get the order to drain again.
func (p *plan) hasDrained(shard int, slot Slot) bool {
	if p.engines[slot.Name] == nil {
		return true
	}
	return slot.Phase == v1alpha1.Drained && !slices.Contains(p.in.Holding[shard], Holder{slot.Name, true})
}

// takeBack makes a draining engine capture again, because its successor died.
func (p *plan) takeBack(s *shard) {
	for i, slot := range s.drains {
		if p.living(slot.Name) != nil && slot.Phase != v1alpha1.Drained {
			slot.Order, slot.Ordered = v1alpha1.OrderCapture, p.in.Now
			s.captures = []Slot{slot}
			s.drains = slices.Delete(s.drains, i, i+1)
			return
		}
	}
}

// advanceMove drains the source of a move once the target captures the shard and sees enough of
// it. It gives the move up if the target is leaving, or does not see enough in time. If the source
// is leaving and there is no other target, it drains in time in any case: its grace period ends,
// and until then it captures what the target does not see.
func (p *plan) advanceMove(s *shard) {
	at := s.source()
	from, to, others := s.captures[at], s.captures[at+1], s.captures[:at:at]
	for _, slot := range s.captures[at+2:] { // only a user can give such orders
		p.drain(s, slot)
	}
	s.captures = append(others, from, to)
	fromLeaves, toLeaves := p.engines[from.Name].Leaving, p.engines[to.Name].Leaving
	fewer := p.seesLess(s, &from, &to)
	late := p.isLate(&to, fromLeaves && fewer)
	last := fromLeaves && !p.hasOtherTarget(s)
	succeeds := to.Phase == v1alpha1.Capturing && (late && last || p.accepts(s, &from, &to))
	switch {
	case succeeds && (fromLeaves || !toLeaves):
		s.captures = append(others, to)
		p.drain(s, from)
	case late && !last && !toLeaves:
		p.undone = append(p.undone, Undone{Shard: s.Index, From: from.Name, To: to.Name, Fewer: fewer})
		fallthrough
	case toLeaves:
		s.captures = append(others, from)
		p.drain(s, to)
	}
}

// isLate reports whether the target of a move has not succeeded the source in time. The time is
// shorter if the source is leaving and the target does not see enough.
func (p *plan) isLate(to *Slot, leavesToBlind bool) bool {
	return p.overdue(to, p.in.Limits.Join) || leavesToBlind && p.overdue(to, p.in.Limits.Leave)
}

// hasOtherTarget reports whether there is another engine to try for a shard. While the
// source leaves, a move to the last possible target is not given up.
func (p *plan) hasOtherTarget(s *shard) bool {
	return slices.ContainsFunc(p.usable, func(e *engine) bool {
		return !s.captured(e.Name) && !slices.Contains(s.Avoid, e.Name)
	})
}

// drainOrphans drains engines that capture a shard which does not name them. If no engine
// should capture the shard, assign chooses one of them instead.
func (p *plan) drainOrphans(s *shard) {
	if len(s.captures) == 0 {
		return
	}
	for _, h := range p.in.Holding[s.Index] {
		named := func(slot Slot) bool { return slot.Name == h.Name }
		if h.Orphaned && p.living(h.Name) != nil &&
			!slices.ContainsFunc(s.captures, named) && !slices.ContainsFunc(s.drains, named) {
			p.drain(s, Slot{Name: h.Name})
		}
	}
}

// livingFirst sorts the engines to drain, the living ones first, and drops the last ones if
// there are more than a shard may name. If a dropped engine is alive, or comes back to life,
// it reports the shard as orphaned and then gets the order to drain.
func (p *plan) livingFirst(s *shard) {
	slices.SortStableFunc(s.drains, func(a, b Slot) int {
		switch aLives, bLives := p.living(a.Name) != nil, p.living(b.Name) != nil; {
		case aLives == bLives:
			return 0
		case aLives:
			return -1
		}
		return 1
	})
	room := maxEngines - max(len(s.captures), s.replicas+1)
	s.drains = s.drains[:min(len(s.drains), room)]
}
