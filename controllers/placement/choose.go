package placement

import (
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// These constants rate how well an engine fits a shard, the best first.
const (
	fitsApart   = iota // has room, and runs in another zone than the shard's other engine
	fits               // has room, and runs on another node than the shard's other engine
	fitsFull           // has no room, but runs on another node than the shard's other engine
	fitsBeside         // runs on the same node as the shard's other engine
	fitsBlind          // is blind, and is not known to reach hosts of the shard
	fitsAvoided        // recently did not capture the shard in time
)

// choose returns a new engine for a shard, or nil if there is none. Of the engines that
// fit best, it chooses the one with the highest rendezvous hash, so that the same engines
// get the same shards again. If no engine has room, it chooses the one with the least
// load.
//
// worst is the worst fit that the engine may have. A shard that would otherwise lack an engine
// or a second engine takes any engine.
func (p *plan) choose(s *shard, worst int) *engine {
	var best *engine
	bestFit, highest := worst+1, 0.0
	stay := p.staying(s)
	for _, e := range p.usable {
		fit := p.fit(s, stay, e)
		if fit > min(bestFit, worst) || s.captured(e.Name) {
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

// staying returns the engine of a shard that stays when the shard gets a new engine, or nil if
// there is none. A new engine replaces the last engine.
func (p *plan) staying(s *shard) *engine {
	switch {
	case s.replicas == 1 || len(s.captures) == 0:
		return nil
	default:
		return p.engines[s.captures[0].Name]
	}
}

// fit rates how well an engine fits a shard together with the engine that stays.
func (p *plan) fit(s *shard, stay, e *engine) int {
	switch {
	case slices.Contains(s.Avoid, e.Name):
		return fitsAvoided
	case e.Blind && !slices.Contains(s.Reaching, e.Name):
		return fitsBlind
	case stay != nil && sameNode(stay, e):
		return fitsBeside
	case e.load+s.weight > (1+Imbalance)*p.mean*e.Capacity:
		return fitsFull
	case stay != nil && sameZone(stay, e):
		return fits
	}
	return fitsApart
}

// sameNode reports whether two engines run on one node. Unknown nodes differ.
func sameNode(a, b *engine) bool { return a.Node != "" && a.Node == b.Node }

// sameZone reports whether two engines run in one zone. Unknown zones differ.
func sameZone(a, b *engine) bool { return a.Zone != "" && a.Zone == b.Zone }

func hashName(name string) uint64 { return xxhash.Sum64String(name) }

// rate weights a hash by the capacity of an engine. As a result, the number of shards for
// which an engine is rated highest is proportional to its capacity.
func (p *plan) rate(hash, capacity float64) float64 {
	if p.alike {
		return hash
	}
	return -capacity / math.Log(hash)
}

// rendezvous hashes an engine and a shard to a number between 0 and 1, as the finalizer
// of SplitMix64 does.
func rendezvous(engine uint64, shard int) float64 {
	h := engine ^ (uint64(shard)+1)*0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return (float64((h^h>>31)>>11) + 0.5) / (1 << 53)
}
