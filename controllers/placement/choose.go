package placement

import (
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// How well an engine fits a shard, the best first.
const (
	fitsApart   = iota // with room, and in another zone than the other engine
	fits               // with room, and on another node
	fitsFull           // on another node
	fitsBeside         // on the node of the other engine
	fitsAvoided        // did not come to capture the shard lately
)

// choose returns the engine for a shard that is given another one: of those that
// fit best the one with the highest rendezvous hash, so that the same engines get
// the same shards again; without room anywhere the one with the least load. It
// returns nil if there is none.
//
// desperate says that any engine will do: nobody else captures the shard, or no
// second one does.
func (p *plan) choose(s *shard, desperate bool) *engine {
	var best *engine
	bestFit, highest := fitsAvoided+1, 0.0
	stay := p.staying(s)
	for _, e := range p.usable {
		fit := p.fit(s, stay, e)
		if fit > bestFit || s.captured(e.Name) || fit == fitsAvoided && !desperate {
			continue
		}
		score := -e.share()
		if fit < fitsFull {
			score = p.rate(rendezvous(e.hash, s.Index), e.Capacity)
		}
		if fit < bestFit || score > highest {
			best, bestFit, highest = e, fit, score
		}
	}
	return best
}

// staying is the engine that captures a shard beside the one that another is
// looked for; nil if there is none. The engine to go is the last one.
func (p *plan) staying(s *shard) *engine {
	switch {
	case s.replicas == 1 || len(s.captures) == 0:
		return nil
	default:
		return p.engines[s.captures[0].Name]
	}
}

func (p *plan) fit(s *shard, stay, e *engine) int {
	switch {
	case slices.Contains(s.Avoid, e.Name):
		return fitsAvoided
	case stay != nil && together(stay, e):
		return fitsBeside
	case e.load+s.weight > (1+Imbalance)*p.mean*e.Capacity:
		return fitsFull
	case stay != nil && neighbours(stay, e):
		return fits
	}
	return fitsApart
}

// together says whether two engines run on one node, neighbours whether they do in
// one zone. What is not known is not the same.
func together(a, b *engine) bool { return a.Node != "" && a.Node == b.Node }

func neighbours(a, b *engine) bool { return a.Zone != "" && a.Zone == b.Zone }

func hashName(name string) uint64 { return xxhash.Sum64String(name) }

// rate weights a hash so that an engine is rated highest for a part of the shards
// that is as its capacity.
func (p *plan) rate(hash, capacity float64) float64 {
	if p.alike {
		return hash
	}
	return -capacity / math.Log(hash)
}

// rendezvous mixes an engine and a shard, as the finalizer of SplitMix64 does, to a
// number between 0 and 1.
func rendezvous(engine uint64, shard int) float64 {
	h := engine ^ (uint64(shard)+1)*0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return (float64((h^h>>31)>>11) + 0.5) / (1 << 53)
}
