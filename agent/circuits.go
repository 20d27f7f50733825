package agent

import (
	"cmp"
	"maps"
	"slices"

	"varve.dev/varve/cluster/report"
	"varve.dev/varve/engine/capture"
)

// Limits of a report: topCircuits is the maximum number of circuits, shardHosts the maximum number
// of hosts of all shards. However, each shard has up to leastHosts.
const topCircuits, shardHosts, leastHosts = 20, 16_384, 4

// circuits are the connections of an engine: one for each server address, shared by all
// channels of that server.
type circuits map[server]*circuit

// server identifies the server of a channel.
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

// circuit counts the channels and shards that use a connection.
type circuit struct {
	channels int
	shards   map[int]int // number of channels by shard
	first    bool        // this engine is the first engine of at least one of the channels
}

// add counts a channel of a shard. second means that two engines capture the channel
// permanently, and this engine is the second one.
func (c circuits) add(s *capture.Status, shard int, second bool) {
	if s.Host == "" || s.State != capture.Connected && s.State != capture.Unsupported {
		return
	}
	at := c[server{s.Provider, s.Host}]
	if at == nil {
		at = &circuit{shards: map[int]int{}}
		c[server{s.Provider, s.Host}] = at
	}
	at.channels++
	at.shards[shard]++
	at.first = at.first || !second
}

// shares returns the number of circuits of each shard. A circuit used by n shards counts
// as 1/n in each, so the shares of all shards add up to the engine's circuits.
func (c circuits) shares() map[int]float64 {
	by := map[int]float64{}
	for _, at := range c {
		for shard := range at.shards {
			by[shard] += 1 / float64(len(at.shards))
		}
	}
	return by
}

// hosts returns the hosts of each shard, the ones with the most channels first.
func (c circuits) hosts(shards int) map[int][]report.Host {
	by := map[int][]report.Host{}
	for server, at := range c {
		for shard, n := range at.shards {
			by[shard] = append(by[shard], report.Host{Host: server.String(), Channels: n})
		}
	}
	most := max(shardHosts/max(shards, 1), leastHosts)
	for shard, hosts := range by {
		slices.SortFunc(hosts, func(a, b report.Host) int {
			return cmp.Or(cmp.Compare(b.Channels, a.Channels), cmp.Compare(a.Host, b.Host))
		})
		by[shard] = slices.Clip(hosts[:min(len(hosts), most)])
	}
	return by
}

// onlySecond counts the circuits that exist only because this engine captures channels as
// their second engine.
func (c circuits) onlySecond() (n int) {
	for _, at := range c {
		if !at.first {
			n++
		}
	}
	return n
}

// top returns the circuits with the most channels.
func (c circuits) top() (top []report.Circuit) {
	servers := slices.SortedFunc(maps.Keys(c), func(a, b server) int {
		return cmp.Or(cmp.Compare(c[b].channels, c[a].channels), cmp.Compare(a.host, b.host), cmp.Compare(a.provider, b.provider))
	})
	for _, s := range servers[:min(len(servers), topCircuits)] {
		top = append(top, report.Circuit{Host: s.String(), Count: 1})
	}
	return top
}
