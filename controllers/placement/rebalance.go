package placement

import (
	"cmp"
	"slices"

	"varve.dev/varve/api/v1alpha1"
)

// goal is what a rebalancing that has begun goes on to.
const goal = Imbalance * 2 / 3

// rebalance begins moves from engines with much to engines with little, if one is
// further from the mean than Imbalance, until none is further than goal, or limit
// moves are under way.
//
// The distance between Imbalance and goal, and the rule that a move must take two
// thirds of the difference between its two engines at most, keep shards from
// going back and forth: for small changes of load, or because they are few and
// large.
func (p *plan) rebalance(limit int) {
	for i := range p.shards {
		if p.shards[i].moving {
			limit--
		}
	}
	if limit <= 0 || p.within(Imbalance) {
		return
	}
	movable := p.movable()
	for stuck := map[*engine]bool{}; limit > 0 && !p.within(goal); {
		least, most := p.extremes(stuck)
		if most == nil {
			return
		}
		i := bestFor(movable[most], most.load-least.load)
		if i < 0 { // nothing of it helps: another one may have what does
			stuck[most] = true
			continue
		}
		p.move(movable[most][i], least, Uneven)
		movable[most] = slices.Delete(movable[most], i, i+1)
		limit--
	}
}

// within says whether no engine is further from the mean than by a part of it.
func (p *plan) within(part float64) bool {
	least, most := p.extremes(nil)
	return most.load <= (1+part)*p.mean && least.load >= (1-part)*p.mean
}

// movable returns the shards that stand still, by usable engine, by weight.
func (p *plan) movable() map[*engine][]*shard {
	out := make(map[*engine][]*shard, len(p.usable))
	for i := range p.shards {
		s := &p.shards[i]
		if !s.moving && len(s.captures) == 1 && s.captures[0].Phase == v1alpha1.Capturing {
			e := p.engines[s.captures[0].Name]
			out[e] = append(out[e], s)
		}
	}
	for _, shards := range out {
		slices.SortFunc(shards, func(a, b *shard) int {
			return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(a.index, b.index))
		})
	}
	return out
}

// extremes returns the engines with the least and the most load, of the latter
// those that are not stuck; no most if all are.
func (p *plan) extremes(stuck map[*engine]bool) (least, most *engine) {
	for _, e := range p.usable {
		if least == nil || e.load < least.load {
			least = e
		}
		if !stuck[e] && (most == nil || e.load > most.load) {
			most = e
		}
	}
	return least, most
}

// bestFor returns the place of the shard that, moved, brings two engines closest
// whose loads differ by gap; -1 if none does by the rule of rebalance. shards are
// by weight.
func bestFor(shards []*shard, gap float64) int {
	at, _ := slices.BinarySearchFunc(shards, gap/2, func(s *shard, w float64) int { return cmp.Compare(s.weight, w) })
	best := at - 1
	if at < len(shards) && shards[at].weight <= gap*2/3 && (best < 0 || shards[at].weight+shards[best].weight < gap) {
		best = at
	}
	return best
}
