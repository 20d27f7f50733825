package placement

import (
	"cmp"
	"slices"

	"varve.dev/varve/api/v1alpha1"
)

// goal is the imbalance at which a rebalancing ends. A rebalancing begins at Imbalance.
const goal = Imbalance * 2 / 3

// idle is the part of the mean load below which an engine counts as nearly idle.
const idle = 0.6

// targets is the number of least loaded engines that are considered as targets of a move.
const targets = 16

// movesLeft returns how many moves for Rebalance may begin now.
func (p *plan) movesLeft() int {
	room := p.in.Limits.AtOnce
	for i := range p.shards {
		if p.shards[i].moving {
			room--
		}
	}
	if per := p.in.Limits.PerMinute; per > 0 {
		room = min(room, per-p.in.Begun)
	}
	return max(room, 0)
}

// separate begins moves of shards whose two engines run on one node or in one zone. If a
// better engine exists, it replaces the second engine. separate returns how many moves may
// still begin.
func (p *plan) separate(room int) int {
	near := func(s *shard) bool {
		if s.replicas < 2 || !p.isMovable(s) {
			return false
		}
		a, b := p.engines[s.captures[0].Name], p.engines[s.captures[1].Name]
		return sameNode(a, b) || sameZone(a, b)
	}
	for _, s := range p.heaviestFirst(near) {
		if room == 0 {
			break
		}
		stay, from := p.engines[s.captures[0].Name], p.engines[s.captures[1].Name]
		to := p.choose(s, fitsBeside)
		if to == nil || p.fit(s, stay, to) >= fitsBeside || !sameNode(stay, from) && p.fit(s, stay, to) != fitsApart {
			continue
		}
		p.move(s, to, Apart)
		room--
	}
	return room
}

// rebalance begins moves from engines with a high load to engines with a low load. It starts
// if the load of an engine differs from the mean by more than Imbalance. It continues until no
// load differs by more than goal, or limit moves have begun. It skips an engine that no move
// helps, for example because the engine has one very heavy shard.
//
// Two rules keep shards from moving back and forth: goal is lower than Imbalance, and the
// load that a move or an exchange transfers is at most 4/3 of the load that would make the
// shares of the two engines equal.
func (p *plan) rebalance(limit int) {
	if limit == 0 {
		return
	}
	byShare := slices.Clone(p.seeing)
	sortByShare(byShare)
	if p.within(Imbalance, byShare[0], byShare[len(byShare)-1]) {
		return
	}
	movable := p.movable()
	// An engine sheds load if it is above the mean by more than shed. An engine receives
	// additional load if it is below the mean by more than fill.
	shed, fill := Imbalance, Imbalance
	for at := len(byShare) - 1; at > 0; {
		most := byShare[at]
		if p.within(goal, byShare[0], most) || most.share() <= p.mean {
			return
		}
		to := byShare[:min(at, targets)]
		over := most.share() > (1+shed)*p.mean
		if !over { // the move must help an engine with too little load
			to = to[:p.below(fill, to)]
		}
		begun := p.relieve(most, to, movable, limit)
		if begun == 0 {
			at-- // no move of this engine's shards helps, so try the next engine
			continue
		}
		if over {
			shed = goal
		} else {
			fill = goal
		}
		if limit -= begun; limit <= 0 {
			return
		}
		sortByShare(byShare)
	}
}

// sortByShare sorts engines by share, which is the load per capacity, the lowest share first.
func sortByShare(engines []*engine) {
	slices.SortFunc(engines, func(a, b *engine) int {
		return cmp.Or(cmp.Compare(a.share(), b.share()), cmp.Compare(a.Name, b.Name))
	})
}

// below counts the engines whose share is below the mean by more than the given part of the
// mean. The engines are sorted by share.
func (p *plan) below(part float64, engines []*engine) (n int) {
	for n < len(engines) && engines[n].share() < (1-part)*p.mean {
		n++
	}
	return n
}

// within reports whether neither of two engines differs from the mean by more than the given
// part of the mean.
func (p *plan) within(part float64, least, most *engine) bool {
	return most.share() <= (1+part)*p.mean && least.share() >= (1-part)*p.mean
}

// piece is a shard that may move off an engine.
type piece struct {
	*shard
	at int // the index of the engine in captures
}

// movable returns the movable shards of each engine, sorted by weight.
func (p *plan) movable() map[*engine][]piece {
	out := make(map[*engine][]piece, len(p.usable))
	for i := range p.shards {
		s := &p.shards[i]
		if !p.isMovable(s) {
			continue
		}
		for at, slot := range s.captures {
			e := p.engines[slot.Name]
			out[e] = append(out[e], piece{s, at})
		}
	}
	for _, pieces := range out {
		slices.SortFunc(pieces, func(a, b piece) int {
			return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(a.Index, b.Index))
		})
	}
	return out
}

// isMovable reports whether a shard may move to even out the load, or to separate its engines.
// If one of its engines does not reach a part of the shard, the shard stays: the IOCs of that
// part may be off, and then no other engine reaches more.
func (p *plan) isMovable(s *shard) bool { return p.isSettled(s) && p.hasRested(s) && !s.isLacking() }

// isSettled reports whether a shard does not move, and all its engines capture it and stay.
func (p *plan) isSettled(s *shard) bool {
	if s.moving || len(s.captures) != s.replicas {
		return false
	}
	return !slices.ContainsFunc(s.captures, func(slot Slot) bool {
		return slot.Phase != v1alpha1.Capturing || p.engines[slot.Name].Leaving
	})
}

// hasRested reports whether the last move of a shard was at least Limits.Rest ago.
func (p *plan) hasRested(s *shard) bool {
	return s.MovedAt.IsZero() || p.in.Now.Sub(s.MovedAt) >= p.in.Limits.Rest
}

// relieve begins one move off an engine to one of the targets, or two moves that exchange
// shards. The targets are sorted by share. It returns how many moves began.
func (p *plan) relieve(from *engine, to []*engine, movable map[*engine][]piece, limit int) int {
	for _, t := range to {
		for _, choice := range []func(from, to *engine) (least, most float64){p.fair, p.helpful, p.small} {
			least, most := choice(from, t)
			if i := p.heaviest(movable[from], from, t, least, most); i >= 0 {
				p.beginMove(movable[from][i], t)
				movable[from] = slices.Delete(movable[from], i, i+1)
				return 1
			}
		}
	}
	if limit < 2 || from.share() <= (1+goal)*p.mean {
		return 0
	}
	return p.exchange(from, to, movable)
}

// level returns the load that must move from one engine to another to make their shares equal.
func level(from, to *engine) float64 {
	return (from.share() - to.share()) / (1/from.Capacity + 1/to.Capacity)
}

// fair returns the range of weights that are worth a move and leave both engines near the
// mean.
func (p *plan) fair(from, to *engine) (least, most float64) {
	most = min(from.load-(1-goal)*p.mean*from.Capacity, (1+goal)*p.mean*to.Capacity-to.load, level(from, to)*4/3)
	return most / 4, most
}

// helpful returns the range of weights that bring the loads of two engines closer, if one
// engine has far too much load or is nearly idle. Without this condition, engines would
// exchange shards at every small change of load.
func (p *plan) helpful(from, to *engine) (least, most float64) {
	if from.share() <= (1+Imbalance)*p.mean && to.share() >= idle*p.mean {
		return 0, 0
	}
	return level(from, to) / 8, level(from, to) * 4 / 3
}

// small returns the range of weights from a fourth of the mean weight of a shard up to the end
// of the range of fair. Several moves of such shards may be needed.
func (p *plan) small(from, to *engine) (least, most float64) {
	_, most = p.fair(from, to)
	return p.shardMean / 4, most
}

// heaviest returns the index of the heaviest piece that weighs from least to most and may move
// from one engine to the other, or -1 if there is none. The pieces are sorted by weight.
func (p *plan) heaviest(pieces []piece, from, to *engine, least, most float64) int {
	for i := firstAbove(pieces, most) - 1; i >= 0 && pieces[i].weight >= least; i-- {
		if p.canTake(pieces[i], from, to) {
			return i
		}
	}
	return -1
}

// firstAbove returns the index of the first shard that is heavier than weight.
func firstAbove(pieces []piece, weight float64) int {
	at, _ := slices.BinarySearchFunc(pieces, weight, func(s piece, w float64) int {
		if s.weight > w {
			return 1
		}
		return -1
	})
	return at
}

// canTake reports whether an engine may take a shard from another one. The shard must not move
// already. The new engine must not capture the shard already, and the shard must not avoid it.
// The two engines of the shard must not end up on the same node, or in the same zone, if they
// were apart before.
func (p *plan) canTake(s piece, from, to *engine) bool {
	if s.moving || s.captured(to.Name) || slices.Contains(s.Avoid, to.Name) {
		return false
	}
	if s.replicas == 1 {
		return true
	}
	stay := p.engines[s.captures[1-s.at].Name]
	return (!sameNode(stay, to) || sameNode(stay, from)) && (!sameZone(stay, to) || sameZone(stay, from))
}

// beginMove begins to move a shard to even out the load.
func (p *plan) beginMove(s piece, to *engine) {
	p.moveToEnd(s.shard, s.at)
	p.move(s.shard, to, Uneven)
}

// exchange begins to move a shard to one of the targets and a lighter one back. The difference
// of their weights is from 1/4 to 4/3 of the load that would make the shares of the two engines
// equal. exchange prefers the pair with the larger difference. It returns how many moves began.
func (p *plan) exchange(from *engine, to []*engine, movable map[*engine][]piece) int {
	var there, back piece
	var target *engine
	best := 0.0
	for _, t := range to {
		wanted := level(from, t)
		for _, a := range movable[from] {
			if !p.canTake(a, from, t) {
				continue
			}
			for i := max(firstAbove(movable[t], a.weight-wanted*2/3)-1, 0); i < len(movable[t]); i++ {
				b := movable[t][i]
				gain := a.weight - b.weight
				if gain < wanted/4 {
					break
				}
				if gain <= wanted*4/3 && gain > best && p.canTake(b, t, from) {
					there, back, target, best = a, b, t, gain
				}
			}
		}
	}
	if target == nil {
		return 0
	}
	p.beginMove(there, target)
	p.beginMove(back, from)
	for _, e := range []*engine{from, target} {
		movable[e] = slices.DeleteFunc(movable[e], func(s piece) bool { return s.moving })
	}
	return 2
}
