// Package placement decides which engine captures which shard. It is pure and has
// no memory: all it goes by is what the shards say now, so that an operator that
// was away, or two of them, come to the same end.
//
//	shards: engines, orders, phases ──▶ settle ──▶ assign ──▶ leave ──▶ rebalance ──▶ engines, orders
//	engines: usable, leaving, dead ──────▲  finish    nobody     SIGTERM   the least       Moves begun
//	reports: who holds what ─────────────┘  or give   captures             moves
//	                                        up moves
//
// A shard moves from A to B in steps, one per call, each after the answer of an
// engine (order in brackets):
//
//	A(Capture) ─▶ A(Capture) B(Capture) ─▶ B(Capture) A(Drain) ─▶ B(Capture)
//	                  B answers Capturing ──▲     A answers Drained ──▲
//
// The first engine of a shard seals it. A shard is in one move at a time.
package placement

import (
	"cmp"
	"slices"

	"varve.dev/varve/api/v1alpha1"
)

// Imbalance is by how much the load of an engine may differ from the mean.
const Imbalance = 0.15

// maxEngines of one shard, as the API has it.
const maxEngines = 4

// Input is all that a decision is made of.
type Input struct {
	// Shards of the archive, by index.
	Shards []Shard
	// Engines that have a pod. One that is missing here holds nothing any more.
	Engines []Engine
	// Holding are the engines that report to have shards, by index of the shard,
	// the one to prefer first.
	Holding map[int][]Holder
	// Rebalance says whether shards move to even out the load.
	Rebalance bool
	// Moves is how many shards may be on the way before none moves only to even
	// out the load.
	Moves int
}

// Shard is what is known of one shard.
type Shard struct {
	// Index in the archive.
	Index int
	// Weight is the load that the shard brings, in any unit.
	Weight float64
	// Engines in the order of the spec, with what they answered.
	Engines []Slot
}

// Slot is an engine of a shard.
type Slot struct {
	Name  string
	Order v1alpha1.EngineOrder
	// Phase is the engine's answer; empty before the first.
	Phase v1alpha1.ShardPhase
}

// Engine is an engine that has a pod.
type Engine struct {
	Name string
	// Usable engines may be given shards.
	Usable bool
	// Leaving engines go on capturing until others have taken their shards.
	Leaving bool
	// Dead engines are taken for capturing nothing, though they may.
	Dead bool
}

// Holder is an engine that reports to capture a shard.
type Holder struct {
	Name string
	// Orphaned says that the shard does not name the engine, which goes on
	// capturing until it is told to drain.
	Orphaned bool
}

// Reason is why a shard got another engine.
type Reason string

// Reasons.
const (
	Unassigned Reason = "Unassigned" // no engine had it
	Adopted    Reason = "Adopted"    // an engine had it, and the shard did not say so
	Dead       Reason = "Dead"
	Leaving    Reason = "Leaving"
	Uneven     Reason = "Uneven"
)

// Move is a shard that gets another engine by this decision.
type Move struct {
	Shard    int
	From, To string // From is empty if there was none
	Reason   Reason
}

// Result is a decision.
type Result struct {
	// Engines of each shard, in the order of Input.Shards.
	Engines [][]v1alpha1.ShardEngine
	// Moves that begin, by shard.
	Moves []Move
	// Unplaced is the number of shards with a weight that no living engine is to
	// capture; Moving of those that are on the way from one living engine to
	// another.
	Unplaced, Moving int
}

// Plan decides. If no engine is usable, all stays as it is: there is nobody to
// take a shard, and who has one goes on.
func Plan(in Input) Result {
	p := newPlan(in)
	if len(p.usable) > 0 {
		for i := range p.shards {
			p.settle(&p.shards[i])
		}
		p.weigh()
		p.assign()
		p.leave()
		if in.Rebalance {
			p.rebalance(in.Moves)
		}
	}
	return p.result()
}

// plan is one run of Plan.
type plan struct {
	engines map[string]*engine
	usable  []*engine // by name
	shards  []shard
	holding map[int][]Holder
	mean    float64 // load of a usable engine
	moves   []Move
}

// engine is an Engine and its load.
type engine struct {
	Engine
	hash uint64
	// load is the weight of the shards that are the engine's once all moves
	// under way are done.
	load float64
}

// shard is a Shard that is being decided on.
type shard struct {
	index    int
	weight   float64
	empty    bool   // without what counts as shard
	captures []Slot // living engines with the order Capture, first the one that seals
	drains   []Slot // all others, the living first
	moving   bool   // between two living engines
	lost     Slot   // who was to capture it, if nobody living is
}

func newPlan(in Input) *plan {
	p := &plan{engines: make(map[string]*engine, len(in.Engines)), holding: in.Holding}
	for _, e := range in.Engines {
		known := &engine{Engine: e, hash: hashName(e.Name)}
		p.engines[e.Name] = known
		if e.Usable && !e.Leaving && !e.Dead {
			p.usable = append(p.usable, known)
		}
	}
	slices.SortFunc(p.usable, func(a, b *engine) int { return cmp.Compare(a.Name, b.Name) })
	p.shards = make([]shard, len(in.Shards))
	base := baseWeight(in.Shards)
	for i, s := range in.Shards {
		p.shards[i] = p.read(s)
		p.shards[i].weight, p.shards[i].empty = base+max(s.Weight, 0), s.Weight <= 0
	}
	return p
}

// baseWeight is what a shard counts without any load, so that empty shards are
// spread as well.
func baseWeight(shards []Shard) float64 {
	var sum float64
	for _, s := range shards {
		sum += max(s.Weight, 0)
	}
	if sum == 0 {
		return 1
	}
	return sum / float64(len(shards)) / 100
}

// living returns an engine unless it is dead or has no pod.
func (p *plan) living(name string) *engine {
	if e := p.engines[name]; e != nil && !e.Dead {
		return e
	}
	return nil
}

func (p *plan) result() Result {
	r := Result{Engines: make([][]v1alpha1.ShardEngine, len(p.shards)), Moves: p.moves}
	slices.SortFunc(r.Moves, func(a, b Move) int { return cmp.Compare(a.Shard, b.Shard) })
	for i := range p.shards {
		s := &p.shards[i]
		for _, slot := range slices.Concat(s.captures, s.drains) {
			r.Engines[i] = append(r.Engines[i], v1alpha1.ShardEngine{Name: slot.Name, Order: slot.Order})
		}
		if !s.empty && !slices.ContainsFunc(s.captures, func(slot Slot) bool { return p.living(slot.Name) != nil }) {
			r.Unplaced++
		}
		if s.moving {
			r.Moving++
		}
	}
	return r
}
