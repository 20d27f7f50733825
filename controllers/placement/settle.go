package placement

import (
	"slices"

	"varve.dev/varve/api/v1alpha1"
)

// read takes a shard as it is.
func (p *plan) read(from *Shard) shard {
	s := shard{Shard: from, replicas: min(max(from.Replicas, 1), maxReplicas)}
	for _, slot := range from.Engines {
		if slot.Order == v1alpha1.OrderCapture {
			s.captures = append(s.captures, slot)
		} else {
			s.drains = append(s.drains, slot)
		}
	}
	s.moving = p.between(&s)
	return s
}

// between says whether a shard is on the way from one living engine to another. An
// engine that does not drain in time is not waited for.
func (p *plan) between(s *shard) bool {
	captures, drains := 0, 0
	for _, slot := range s.captures {
		if p.living(slot.Name) != nil {
			captures++
		}
	}
	for _, slot := range s.drains {
		if p.living(slot.Name) != nil && !p.overdue(slot) {
			drains++
		}
	}
	return captures > s.replicas || drains > 0 && captures+drains > 1
}

// settle takes the next step of a move that is under way, or gives it up, and
// ends the part of engines that are gone.
func (p *plan) settle(s *shard) {
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
		p.advance(s)
	}
	p.drainOrphans(s)
	p.livingFirst(s)
	s.moving = p.between(s)
}

// drain gives an engine the order to stop, unless it has.
func (p *plan) drain(s *shard, slot Slot) {
	if !p.ended(s.Index, slot) {
		if slot.Order != v1alpha1.OrderDrain {
			slot.Order, slot.Ordered = v1alpha1.OrderDrain, p.in.Now
		}
		s.drains = append(s.drains, slot)
	}
}

// ended says whether an engine that had to drain has nothing of the shard any
// more. A report that says otherwise is older than the answer, and waited for:
// the engine would be told to drain again.
func (p *plan) ended(shard int, slot Slot) bool {
	if p.engines[slot.Name] == nil {
		return true
	}
	return slot.Phase == v1alpha1.Drained && !slices.Contains(p.in.Holding[shard], Holder{slot.Name, true})
}

// takeBack lets an engine that was about to stop go on, because the one that was
// to follow died.
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

// advance lets the engine to go stop if the newcomer captures, or gives the move up
// if the newcomer is leaving and the other one is not, or takes too long.
func (p *plan) advance(s *shard) {
	at := s.source()
	from, to, others := s.captures[at], s.captures[at+1], s.captures[:at:at]
	for _, slot := range s.captures[at+2:] { // nobody but a human gives such orders
		p.drain(s, slot)
	}
	s.captures = append(others, from, to)
	fromLeaves, toLeaves := p.engines[from.Name].Leaving, p.engines[to.Name].Leaving
	late := p.overdue(to) && (!fromLeaves || p.another(s))
	switch {
	case to.Phase == v1alpha1.Capturing && (fromLeaves || !toLeaves):
		s.captures = append(others, to)
		p.drain(s, from)
	case late && !toLeaves:
		p.undone = append(p.undone, Undone{Shard: s.Index, From: from.Name, To: to.Name})
		fallthrough
	case toLeaves:
		s.captures = append(others, from)
		p.drain(s, to)
	}
}

// another says whether there is an engine left to try for a shard: who gives up
// the last one while the source leaves has less than before.
func (p *plan) another(s *shard) bool {
	return slices.ContainsFunc(p.usable, func(e *engine) bool {
		return !s.captured(e.Name) && !slices.Contains(s.Avoid, e.Name)
	})
}

// drainOrphans tells engines to stop that capture the shard without being asked
// to. If nobody is asked to, assign takes one of them.
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

// livingFirst puts those to drain first who can hear it, and drops the last ones
// of too many. If one of these lives, or comes to life again, it reports the
// shard as orphaned and gets its order then.
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
