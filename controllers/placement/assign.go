package placement

import (
	"cmp"
	"slices"

	"varve.dev/varve/api/v1alpha1"
)

// sumLoads computes the load that each engine will have after all moves under way, and the
// means. The load that blind engines keep is not part of the mean of the engines that see.
func (p *plan) sumLoads() {
	var sum, one, capacity float64
	for i := range p.shards {
		s := &p.shards[i]
		one += s.weight
		sum += s.weight * float64(min(s.replicas, len(p.usable)))
		for at, slot := range s.captures {
			if at == s.source() {
				continue
			}
			e := p.engines[slot.Name]
			e.load += s.weight
			if e.Blind && !e.Leaving && !s.lacks(&slot) && len(p.seeing) < len(p.usable) {
				sum -= s.weight
			}
		}
	}
	for _, e := range p.seeing {
		capacity += e.Capacity
	}
	p.mean, p.shardMean = sum/capacity, one/float64(max(len(p.shards), 1))
}

// assign gives all shards that no engine captures to engines at once. It begins with the
// heaviest shards, so that light ones fill the gaps.
func (p *plan) assign() {
	for _, s := range p.heaviestFirst(func(s *shard) bool { return len(s.captures) == 0 }) {
		to, reason := p.holder(s), Adopted
		if to == nil {
			to, reason = p.choose(s, fitsAvoided), Dead
		}
		if s.lost.Name == "" && reason == Dead {
			reason = Unassigned
		}
		p.addEngine(s, to)
		p.record(s, s.lost.Name, to, reason)
		p.drainOrphans(s)
		p.livingFirst(s)
	}
}

// addSeconds gives a second engine to all shards that lack one at once. The second engine may
// run on the node of the first engine if there is no usable engine on another node.
func (p *plan) addSeconds() {
	lacking := func(s *shard) bool { return len(s.captures) < s.replicas && !s.moving }
	for _, s := range p.heaviestFirst(lacking) {
		if to := p.choose(s, fitsAvoided); to != nil {
			p.addEngine(s, to)
			p.record(s, s.lost.Name, to, Second)
		}
	}
}

// moveOffLeaving begins to move shards off engines that are leaving. All these moves begin at
// once, because the engines wait for them.
func (p *plan) moveOffLeaving() {
	leaving := func(s *shard) bool { return !s.moving && p.leavingAt(s) >= 0 }
	for _, s := range p.heaviestFirst(leaving) {
		p.replace(s, p.leavingAt(s))
	}
}

// leavingAt returns the index in captures of an engine that is leaving, or -1 if there is
// none.
func (p *plan) leavingAt(s *shard) int {
	return slices.IndexFunc(s.captures, func(slot Slot) bool { return p.engines[slot.Name].Leaving })
}

// replace begins to move a shard off an engine that is leaving. If no other engine can take
// over, the second engine of the shard captures it alone.
func (p *plan) replace(s *shard, at int) {
	p.moveToEnd(s, at)
	if to := p.choose(s, fitsBlind); to != nil {
		p.move(s, to, Leaving)
		return
	}
	from := s.captures[len(s.captures)-1]
	if other := s.captures[0]; other.Name != from.Name && other.Phase == v1alpha1.Capturing && !p.engines[other.Name].Leaving {
		s.captures = s.captures[:1]
		p.engines[from.Name].load -= s.weight
		p.drain(s, from)
		s.moving = true
	}
}

// moveToEnd moves an engine to the end of captures. The last engine is the source of the next
// move.
func (p *plan) moveToEnd(s *shard, at int) {
	slot := s.captures[at]
	s.captures = append(slices.Delete(s.captures, at, at+1), slot)
}

// move begins to move a shard off the last engine that captures it.
func (p *plan) move(s *shard, to *engine, reason Reason) {
	from := p.engines[s.captures[len(s.captures)-1].Name]
	from.load -= s.weight
	p.addEngine(s, to)
	s.moving = true
	p.record(s, from.Name, to, reason)
}

// addEngine adds an engine to the engines that capture a shard.
func (p *plan) addEngine(s *shard, to *engine) {
	to.load += s.weight
	s.drains = slices.DeleteFunc(s.drains, func(slot Slot) bool { return slot.Name == to.Name })
	s.captures = append(s.captures, Slot{Name: to.Name, Order: v1alpha1.OrderCapture, Ordered: p.in.Now})
}

// record adds a move to the result.
func (p *plan) record(s *shard, from string, to *engine, reason Reason) {
	p.moves = append(p.moves, Move{Shard: s.Index, From: from, To: to.Name, Reason: reason})
}

// heaviestFirst returns the wanted shards, the heaviest first.
func (p *plan) heaviestFirst(wanted func(*shard) bool) []*shard {
	var out []*shard
	for i := range p.shards {
		if wanted(&p.shards[i]) {
			out = append(out, &p.shards[i])
		}
	}
	slices.SortFunc(out, func(a, b *shard) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.Index, b.Index))
	})
	return out
}

// holder returns the preferred usable engine that already captures the shard, or nil if there
// is none.
func (p *plan) holder(s *shard) *engine {
	for _, h := range p.in.Holding[s.Index] {
		if e := p.engines[h.Name]; e != nil && slices.Contains(p.usable, e) {
			return e
		}
	}
	return nil
}
