package simulate

import (
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
)

// Varve is a Placer that uses package placement with limits like those of the operator.
// Decisions are 10 s apart, and engines carry out each decision before the next one.
type Varve struct {
	Replicas int
	// Check is called after every decision. It may be nil.
	Check func(placement.Input, placement.Result)

	shards  []placement.Shard
	memory  placement.Memory
	now     time.Time
	longest time.Duration
}

var limits = placement.Limits{
	AtOnce: 8, PerMinute: 60, Rest: 5 * time.Minute, Join: 2 * time.Minute, Avoid: 10 * time.Minute,
}

const (
	decision = 10 * time.Second
	between  = 30 * time.Minute // time between two events
	maxSteps = 1000             // far more decisions than an event ever needs
)

// Longest returns the longest time of a decision.
func (v *Varve) Longest() time.Duration { return v.longest }

// Place makes decisions until nothing changes, even after the rest time of moved shards.
func (v *Varve) Place(engines []placement.Engine, weights []float64) (holders [][]string, steps int) {
	if v.shards == nil {
		v.shards = make([]placement.Shard, len(weights))
	}
	for i := range v.shards {
		v.shards[i].Index, v.shards[i].Weight, v.shards[i].Replicas = i, weights[i], v.Replicas
	}
	v.now = v.now.Add(between)
	for rested := false; steps < maxSteps; steps++ {
		if v.decide(engines) {
			rested = false
			continue
		}
		if rested {
			break
		}
		v.now, rested = v.now.Add(limits.Rest), true
	}
	for i := range v.shards {
		var names []string
		for _, slot := range v.shards[i].Engines {
			names = append(names, slot.Name)
		}
		holders = append(holders, names)
	}
	return holders, max(steps, 1)
}

// decide makes one decision and lets the engines carry it out. It reports whether anything
// changed.
func (v *Varve) decide(engines []placement.Engine) (changed bool) {
	v.now = v.now.Add(decision)
	in := placement.Input{Shards: v.shards, Engines: engines, Rebalance: true, Now: v.now, Limits: limits}
	v.memory.Recall(&in)
	began := time.Now()
	r := placement.Plan(in)
	v.longest = max(v.longest, time.Since(began))
	v.memory.Record(&in, r)
	if v.Check != nil {
		v.Check(in, r)
	}
	for i, orders := range r.Engines {
		same := len(orders) == len(v.shards[i].Engines)
		var slots []placement.Slot
		for j, o := range orders {
			same = same && v.shards[i].Engines[j].Name == o.Name && v.shards[i].Engines[j].Order == o.Order
			slot := placement.Slot{Name: o.Name, Order: o.Order, Phase: v1alpha1.Capturing}
			if o.Order == v1alpha1.OrderDrain {
				slot.Phase = v1alpha1.Drained
			}
			slots = append(slots, slot)
		}
		changed = changed || !same || slices.ContainsFunc(slots, func(s placement.Slot) bool { return s.Phase == v1alpha1.Drained })
		v.shards[i].Engines = slots
	}
	return changed
}
