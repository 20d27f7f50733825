package placement

import (
	"cmp"
	"slices"

	"varve.dev/varve/api/v1alpha1"
)

// goal is what a rebalancing that has begun goes on to.
const goal = Imbalance * 2 / 3

// idle is the part of the mean below which an engine has next to nothing.
const idle = 0.6

// targets is how many of the engines with the least load are looked at for one
// with much.
const targets = 16

// room is how many moves may begin that are not urgent.
func (p *plan) room() int {
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

// spread begins to move the second engine of shards whose two are on one node, or
// in one zone, if there is a place for it. It returns how many moves are left.
func (p *plan) spread(room int) int {
	near := func(s *shard) bool {
		if s.replicas < 2 || !p.still(s) {
			return false
		}
		a, b := p.engines[s.captures[0].Name], p.engines[s.captures[1].Name]
		return together(a, b) || neighbours(a, b)
	}
	for _, s := range p.heaviestFirst(near) {
		if room == 0 {
			break
		}
		stay, from := p.engines[s.captures[0].Name], p.engines[s.captures[1].Name]
		to := p.choose(s, false)
		if to == nil || p.fit(s, stay, to) >= fitsBeside || !together(stay, from) && p.fit(s, stay, to) != fitsApart {
			continue
		}
		p.move(s, to, Apart)
		room--
	}
	return room
}

// rebalance begins moves from engines with much to engines with little, if one is
// further from the mean than Imbalance, until none is further than goal, or limit
// moves are begun. An engine that nothing helps, because one shard is too heavy,
// does not make others move.
//
// The distance between Imbalance and goal, and the rule that a move must take two
// thirds of the difference between its two engines at most, keep shards from
// going back and forth: for small changes of load, or because they are few and
// large.
func (p *plan) rebalance(limit int) {
	if limit == 0 {
		return
	}
	byShare := slices.Clone(p.usable)
	sortByShare(byShare)
	if p.within(Imbalance, byShare[0], byShare[len(byShare)-1]) {
		return
	}
	movable := p.movable()
	shed, fill := Imbalance, Imbalance // how far from the mean engines with much, and with little, have to be
	for at := len(byShare) - 1; at > 0; {
		most := byShare[at]
		if p.within(goal, byShare[0], most) || most.share() <= p.mean {
			return
		}
		to := byShare[:min(at, targets)]
		over := most.share() > (1+shed)*p.mean
		if !over { // it must be for one with too little
			to = to[:p.below(fill, to)]
		}
		begun := p.relieve(most, to, movable, limit)
		if begun == 0 {
			at-- // nothing of it helps: another one may have what does
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

func sortByShare(engines []*engine) {
	slices.SortFunc(engines, func(a, b *engine) int {
		return cmp.Or(cmp.Compare(a.share(), b.share()), cmp.Compare(a.Name, b.Name))
	})
}

// below counts the engines that are further below the mean than by a part of it.
// They are by share.
func (p *plan) below(part float64, engines []*engine) (n int) {
	for n < len(engines) && engines[n].share() < (1-part)*p.mean {
		n++
	}
	return n
}

// within says whether neither of two engines is further from the mean than by a
// part of it.
func (p *plan) within(part float64, least, most *engine) bool {
	return most.share() <= (1+part)*p.mean && least.share() >= (1-part)*p.mean
}

// piece is a shard that may move off an engine.
type piece struct {
	*shard
	at int // place of the engine in captures
}

// movable returns the shards that may move, by usable engine, by weight.
func (p *plan) movable() map[*engine][]piece {
	out := make(map[*engine][]piece, len(p.usable))
	for i := range p.shards {
		s := &p.shards[i]
		if !p.still(s) {
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

// still says whether a shard stands still, and has rested.
func (p *plan) still(s *shard) bool {
	if s.moving || len(s.captures) != s.replicas {
		return false
	}
	for _, slot := range s.captures {
		if slot.Phase != v1alpha1.Capturing || p.engines[slot.Name].Leaving {
			return false
		}
	}
	return s.MovedAt.IsZero() || p.in.Now.Sub(s.MovedAt) >= p.in.Limits.Rest
}

// relieve begins one move off an engine, or two that exchange shards, to one of
// the targets, of which the first has the least. It returns how many began.
func (p *plan) relieve(from *engine, to []*engine, movable map[*engine][]piece, limit int) int {
	for _, t := range to {
		for _, choice := range []func(from, to *engine) (least, most float64){p.fair, p.helpful, p.small} {
			least, most := choice(from, t)
			if i := p.heaviest(movable[from], from, t, least, most); i >= 0 {
				p.begin(movable[from][i], t)
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

// level is how much has to go from one engine to another for their shares to be
// the same.
func level(from, to *engine) float64 {
	return (from.share() - to.share()) / (1/from.Capacity + 1/to.Capacity)
}

// fair are the weights that leave both engines near the mean, and are worth a move.
func (p *plan) fair(from, to *engine) (least, most float64) {
	most = min(from.load-(1-goal)*p.mean*from.Capacity, (1+goal)*p.mean*to.Capacity-to.load, level(from, to)*4/3)
	return most / 4, most
}

// helpful are the weights that bring two engines closer, if one has far too much or
// next to nothing. Others would take turns for every small change of load.
func (p *plan) helpful(from, to *engine) (least, most float64) {
	if from.share() <= (1+Imbalance)*p.mean && to.share() >= idle*p.mean {
		return 0, 0
	}
	return level(from, to) / 8, level(from, to) * 4 / 3
}

// small are the weights of which it takes many, down to a fourth of a mean shard.
func (p *plan) small(from, to *engine) (least, most float64) {
	_, most = p.fair(from, to)
	return p.shardMean / 4, most
}

// heaviest returns the place of the heaviest shard between two weights that may go
// to an engine; -1 if there is none. pieces are by weight.
func (p *plan) heaviest(pieces []piece, from, to *engine, least, most float64) int {
	for i := after(pieces, most) - 1; i >= 0 && pieces[i].weight >= least; i-- {
		if p.may(pieces[i], from, to) {
			return i
		}
	}
	return -1
}

// after returns the place of the first shard that is heavier.
func after(pieces []piece, weight float64) int {
	at, _ := slices.BinarySearchFunc(pieces, weight, func(s piece, w float64) int {
		if s.weight > w {
			return 1
		}
		return -1
	})
	return at
}

// may says whether an engine may take a shard from another: it would neither have
// it twice, nor bring its engines closer together than they are.
func (p *plan) may(s piece, from, to *engine) bool {
	if s.moving || s.captured(to.Name) || slices.Contains(s.Avoid, to.Name) {
		return false
	}
	if s.replicas == 1 {
		return true
	}
	stay := p.engines[s.captures[1-s.at].Name]
	return (!together(stay, to) || together(stay, from)) && (!neighbours(stay, to) || neighbours(stay, from))
}

func (p *plan) begin(s piece, to *engine) {
	p.last(s.shard, s.at)
	p.move(s.shard, to, Uneven)
}

// exchange begins to move a shard from one engine to another, and a lighter one the
// other way, the pair that brings them closest.
func (p *plan) exchange(from *engine, to []*engine, movable map[*engine][]piece) int {
	var there, back piece
	var target *engine
	best := 0.0
	for _, t := range to {
		wanted := level(from, t)
		for _, a := range movable[from] {
			if !p.may(a, from, t) {
				continue
			}
			for i := after(movable[t], a.weight-wanted*2/3) - 1; i >= 0 && i < len(movable[t]); i++ {
				b := movable[t][i]
				gain := a.weight - b.weight
				if gain < wanted/4 {
					break
				}
				if gain <= wanted*4/3 && gain > best && p.may(b, t, from) {
					there, back, target, best = a, b, t, gain
				}
			}
		}
	}
	if target == nil {
		return 0
	}
	p.begin(there, target)
	p.begin(back, from)
	for _, e := range []*engine{from, target} {
		movable[e] = slices.DeleteFunc(movable[e], func(s piece) bool { return s.moving })
	}
	return 2
}
