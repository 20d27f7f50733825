package placement

import (
	"cmp"
	"slices"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/api/v1alpha1"
)

// weigh sums up what each engine has, and will have.
func (p *plan) weigh() {
	var sum float64
	for i := range p.shards {
		s := &p.shards[i]
		sum += s.weight
		if n := len(s.captures); n > 0 {
			p.engines[s.captures[n-1].Name].load += s.weight
		}
	}
	p.mean = sum / float64(len(p.usable))
}

// assign gives shards that nobody captures to engines, at once and without a
// limit on their number. The heaviest go first: small ones fill the gaps.
func (p *plan) assign() {
	for _, s := range p.heaviestFirst(func(s *shard) bool { return len(s.captures) == 0 }) {
		to, reason := p.holder(s), Adopted
		if to == nil {
			to, reason = p.choose(s), Dead
		}
		if s.lost.Name == "" && reason == Dead {
			reason = Unassigned
		}
		p.give(s, to)
		p.moves = append(p.moves, Move{Shard: s.index, From: s.lost.Name, To: to.Name, Reason: reason})
		p.drainOrphans(s)
		p.livingFirst(s)
	}
}

// leave begins to move shards off engines that are leaving, also without a
// limit: these wait for it.
func (p *plan) leave() {
	leaving := func(s *shard) bool { return !s.moving && p.engines[s.captures[0].Name].Leaving }
	for _, s := range p.heaviestFirst(leaving) {
		p.move(s, p.choose(s), Leaving)
	}
}

// move begins to move a shard.
func (p *plan) move(s *shard, to *engine, reason Reason) {
	from := p.engines[s.captures[0].Name]
	from.load -= s.weight
	p.give(s, to)
	s.moving = true
	p.moves = append(p.moves, Move{Shard: s.index, From: from.Name, To: to.Name, Reason: reason})
}

// give adds an engine to those that capture a shard.
func (p *plan) give(s *shard, to *engine) {
	to.load += s.weight
	s.drains = slices.DeleteFunc(s.drains, func(slot Slot) bool { return slot.Name == to.Name })
	s.captures = append(s.captures, Slot{Name: to.Name, Order: v1alpha1.OrderCapture})
}

func (p *plan) heaviestFirst(wanted func(*shard) bool) []*shard {
	var out []*shard
	for i := range p.shards {
		if wanted(&p.shards[i]) {
			out = append(out, &p.shards[i])
		}
	}
	slices.SortFunc(out, func(a, b *shard) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.index, b.index))
	})
	return out
}

// holder returns the engine to prefer of those that have the shard already.
func (p *plan) holder(s *shard) *engine {
	for _, h := range p.holding[s.index] {
		if e := p.engines[h.Name]; e != nil && slices.Contains(p.usable, e) {
			return e
		}
	}
	return nil
}

// choose returns the engine for a shard: of those with room for it the one with
// the highest rendezvous hash, so that the same engines get the same shards
// again; without room anywhere the one with the least load.
func (p *plan) choose(s *shard) *engine {
	var best, least *engine
	var highest uint64
	for _, e := range p.usable {
		if least == nil || e.load < least.load {
			least = e
		}
		if h := rendezvous(e.hash, s.index); e.load+s.weight <= (1+Imbalance)*p.mean && (best == nil || h > highest) {
			best, highest = e, h
		}
	}
	if best == nil {
		return least
	}
	return best
}

func hashName(name string) uint64 { return xxhash.Sum64String(name) }

// rendezvous mixes an engine and a shard, as the finalizer of SplitMix64 does.
func rendezvous(engine uint64, shard int) uint64 {
	h := engine ^ (uint64(shard)+1)*0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
