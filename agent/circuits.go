package agent

import (
	"cmp"
	"maps"
	"slices"

	"varve.dev/varve/cluster/report"
	"varve.dev/varve/engine/capture"
)

// topCircuits bounds those in a report.
const topCircuits = 20

// circuits are the connections of an engine: one to each address of a server, which
// all channels there use.
type circuits map[server]*circuit

// server is where a channel is served.
type server struct {
	provider capture.Provider
	host     string // host:port
}

func (s server) String() string {
	if s.provider == capture.CA {
		return s.host
	}
	return s.provider.String() + "://" + s.host
}

// circuit is what uses a connection.
type circuit struct {
	channels int
	shards   map[int]bool
	first    bool // this engine is the first one to capture some of the channels
}

// add counts a channel of a shard. second says that another engine captures the channel
// for good, too, and is the first one.
func (c circuits) add(s *capture.Status, shard int, second bool) {
	if s.Host == "" || s.State != capture.Connected && s.State != capture.Unsupported {
		return
	}
	at := c[server{s.Provider, s.Host}]
	if at == nil {
		at = &circuit{shards: map[int]bool{}}
		c[server{s.Provider, s.Host}] = at
	}
	at.channels++
	at.shards[shard] = true
	at.first = at.first || !second
}

// shares returns how many circuits each shard takes. One that n shards use counts as
// 1/n in each, so that the shards of an engine have all of its circuits together.
func (c circuits) shares() map[int]float64 {
	by := map[int]float64{}
	for _, at := range c {
		for shard := range at.shards {
			by[shard] += 1 / float64(len(at.shards))
		}
	}
	return by
}

// onlySecond counts the circuits that there would not be if the engine captured only
// what it is the first one for.
func (c circuits) onlySecond() (n int) {
	for _, at := range c {
		if !at.first {
			n++
		}
	}
	return n
}

// top returns those with the most channels.
func (c circuits) top() (top []report.Circuit) {
	servers := slices.SortedFunc(maps.Keys(c), func(a, b server) int {
		return cmp.Or(cmp.Compare(c[b].channels, c[a].channels), cmp.Compare(a.host, b.host), cmp.Compare(a.provider, b.provider))
	})
	for _, s := range servers[:min(len(servers), topCircuits)] {
		top = append(top, report.Circuit{Host: s.String(), Count: 1})
	}
	return top
}
