package placement

import (
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// Memory remembers for Plan what happened when, by one clock. All of it can be
// lost: moves get their time again, and shards that rested may move.
//
// It is used in this order: Recall, Plan, Record.
type Memory struct {
	orders map[order]time.Time // since when an engine has its order
	avoid  map[pair]time.Time  // until when an engine is not chosen for a shard
	moved  map[int]time.Time   // when a shard moved that did not have to
	begun  []time.Time         // of such moves, those of the last minute
}

type pair struct {
	shard  int
	engine string
}

type order struct {
	pair
	order v1alpha1.EngineOrder
}

// Recall fills in what is remembered: Ordered, MovedAt, Avoid and Begun.
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
}

// Record takes what was decided on an input that Recall filled in.
func (m *Memory) Record(in *Input, r Result) {
	if m.avoid == nil {
		m.avoid, m.moved = map[pair]time.Time{}, map[int]time.Time{}
	}
	for _, u := range r.Undone {
		m.avoid[pair{u.Shard, u.To}] = in.Now.Add(in.Limits.Avoid)
	}
	for _, move := range r.Moves {
		if move.Reason == Uneven || move.Reason == Apart {
			m.moved[move.Shard] = in.Now
			m.begun = append(m.begun, in.Now)
		}
	}
}
