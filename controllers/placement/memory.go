package placement

import (
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// Memory remembers, for Plan, when orders were given and moves began, and what engines saw of
// their shards. Losing the memory does no harm: moves under way then get their full time again,
// shards may move again at once, and blind engines must be found again.
//
// Callers use it in this order: Recall, Plan, Record.
type Memory struct {
	orders map[order]time.Time // when an engine got its order
	avoid  map[pair]time.Time  // the time until which an engine must not get a shard
	moved  map[int]time.Time   // when a shard last moved for Rebalance
	begun  []time.Time         // when the moves for Rebalance of the last minute began
	sights sights
}

// pair is a shard and an engine.
type pair struct {
	shard  int
	engine string
}

// order is an engine's order for a shard.
type order struct {
	pair
	order v1alpha1.EngineOrder
}

// Recall fills Ordered, MovedAt, Avoid and Begun of an input, and Reached, Reaching, Suspect,
// Probe and Blind.
func (m *Memory) Recall(in *Input) {
	orders := make(map[order]time.Time, len(in.Shards))
	avoid := map[int][]string{}
	for p, until := range m.avoid {
		if in.Now.Before(until) {
			avoid[p.shard] = append(avoid[p.shard], p.engine)
		} else {
			delete(m.avoid, p)
		}
	}
	for i := range in.Shards {
		s := &in.Shards[i]
		for j := range s.Engines {
			key := order{pair{s.Index, s.Engines[j].Name}, s.Engines[j].Order}
			since, known := m.orders[key]
			if !known {
				since = in.Now
			}
			orders[key], s.Engines[j].Ordered = since, since
		}
		s.MovedAt, s.Avoid = m.moved[s.Index], avoid[s.Index]
		slices.Sort(s.Avoid)
	}
	m.orders = orders
	m.begun = slices.DeleteFunc(m.begun, func(at time.Time) bool { return in.Now.Sub(at) >= time.Minute })
	in.Begun = len(m.begun)
	m.sights.recall(in)
}

// Record remembers a decision on an input that Recall has filled.
func (m *Memory) Record(in *Input, r Result) {
	if m.avoid == nil {
		m.avoid, m.moved = map[pair]time.Time{}, map[int]time.Time{}
	}
	for _, u := range r.Undone {
		m.avoid[pair{u.Shard, u.To}] = in.Now.Add(in.Limits.Avoid)
	}
	for _, move := range r.Moves {
		switch move.Reason {
		case Uneven, Apart, Blind, Probe:
			m.moved[move.Shard] = in.Now
			m.begun = append(m.begun, in.Now)
		}
	}
	m.sights.record(in, r)
}
