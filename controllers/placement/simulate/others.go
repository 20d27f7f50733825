package simulate

import (
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/controllers/placement"
)

// Placer assigns shards to engines. Place receives the engines, some of which may be leaving,
// and the weight of each shard. It returns the names of the engines that capture each shard.
// steps is the number of its decisions.
type Placer interface {
	Place(engines []placement.Engine, weights []float64) (holders [][]string, steps int)
}

// stateless is a placement that depends only on the names of engines and the weights of
// shards.
type stateless func(names []string, weights []float64) []string

func (place stateless) Place(engines []placement.Engine, weights []float64) (holders [][]string, steps int) {
	var names []string
	for _, e := range engines {
		if !e.Leaving {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	for _, name := range place(names, weights) {
		holders = append(holders, []string{name})
	}
	return holders, 1
}

// Rendezvous returns a placer by rendezvous hashing: each shard goes to the engine with the
// highest hash of the shard and the engine's name.
func Rendezvous() Placer {
	return stateless(func(names []string, weights []float64) []string {
		hashes := make([]uint64, len(names))
		for i, name := range names {
			hashes[i] = xxhash.Sum64String(name)
		}
		out := make([]string, len(weights))
		for shard := range out {
			best, highest := 0, uint64(0)
			for i, h := range hashes {
				if h = mix(h ^ mix(uint64(shard))); h >= highest {
					best, highest = i, h
				}
			}
			out[shard] = names[best]
		}
		return out
	})
}

func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Ring returns a placer by consistent hashing with bounded loads. Each engine has 100 places
// on a ring. A shard goes to the first engine after the shard's place on the ring whose load
// would remain below 1.15 times the mean. If there is no such engine, the shard goes to the
// least loaded one.
func Ring() Placer {
	const places = 100
	type place struct {
		hash   uint64
		engine int
	}
	return stateless(func(names []string, weights []float64) []string {
		ring := make([]place, 0, places*len(names))
		for i, name := range names {
			for j := range places {
				ring = append(ring, place{xxhash.Sum64String(name + "/" + strconv.Itoa(j)), i})
			}
		}
		sort.Slice(ring, func(a, b int) bool { return ring[a].hash < ring[b].hash })
		sum := 0.0
		for _, w := range weights {
			sum += w
		}
		room := sum / float64(len(names)) * (1 + placement.Imbalance)
		loads := make([]float64, len(names))
		out := make([]string, len(weights))
		for shard, w := range weights {
			h := mix(uint64(shard) + 0x9e3779b97f4a7c15)
			at := sort.Search(len(ring), func(i int) bool { return ring[i].hash >= h }) % len(ring)
			least, lightest := at, math.Inf(1)
			for i := range ring {
				p := ring[(at+i)%len(ring)]
				if loads[p.engine]+w <= room {
					least = (at + i) % len(ring)
					break
				}
				if loads[p.engine] < lightest {
					least, lightest = (at+i)%len(ring), loads[p.engine]
				}
			}
			e := ring[least].engine
			loads[e] += w
			out[shard] = names[e]
		}
		return out
	})
}

// HashMod returns a placer that numbers the engines. A shard goes to the engine whose
// number is the shard's hash modulo the number of engines.
func HashMod() Placer {
	return stateless(func(names []string, weights []float64) []string {
		out := make([]string, len(weights))
		for shard := range out {
			out[shard] = names[mix(uint64(shard)+1)%uint64(len(names))]
		}
		return out
	})
}
