// Package placement decides which engine captures which shard. Plan is pure and has
// no memory: all it goes by is its input, so that an operator that was away, or two
// of them, come to the same end. How it decides is in docs/design/placement.md.
//
//	shards: engines, orders, phases ──▶ settle ──▶ assign ──▶ complete ──▶ leave ──▶ spread ──▶ even ──▶ engines, orders
//	engines: usable, leaving, dead ──────▲  finish    nobody     a second     SIGTERM   nodes,     the       Moves begun
//	reports: who holds what ─────────────┤  or give   captures   is missing             zones      fewest    Undone
//	reports: what it costs ──▶ Smoother ─┤  up moves                                               moves
//	what happened when ──▶ Memory ───────┘
//
// A shard moves from A to B in steps, one per call, each after the answer of an
// engine (order in brackets):
//
//	A(Capture) ─▶ A(Capture) B(Capture) ─▶ B(Capture) A(Drain) ─▶ B(Capture)
//	                  B answers Capturing ──▲     A answers Drained ──▲
//
// The first engine of a shard seals it. If S and A capture it both, S stays first,
// and A, S, … is made S, A, B when A moves: the engine to go is always the one
// before the newcomer. A shard is in one move at a time.
package placement

import (
	"cmp"
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// Imbalance is by how much the load of an engine may differ from the mean.
const Imbalance = 0.15

// maxEngines of one shard, as the API has it, and how many of them capture it but
// for a move.
const maxEngines, maxReplicas = 4, 2

// Input is all that a decision is made of.
type Input struct {
	// Shards of the archive, by index.
	Shards []Shard
	// Engines that have a pod. One that is missing here holds nothing any more.
	Engines []Engine
	// Holding are the engines that report to have shards, by index of the shard,
	// the one to prefer first.
	Holding map[int][]Holder
	// Rebalance says whether shards move to even out the load, and to bring the
	// two engines of a shard further apart.
	Rebalance bool
	// Hold says why no such move begins for now, though Rebalance is on: Cassandra
	// is being scaled. Empty: none is held. Shards of dead and leaving engines move
	// all the same.
	Hold string

	// Now is compared with the times below, of the same clock.
	Now    time.Time
	Limits Limits
	// Begun is how many such moves began in the last minute.
	Begun int
}

// Limits bound moves. A duration that is zero bounds nothing.
type Limits struct {
	// AtOnce is how many shards may be on the way before none moves only to even
	// out the load; PerMinute is how many such moves may begin in a minute, 0:
	// any number.
	AtOnce, PerMinute int
	// Rest is for how long a shard that moved to even out the load does not again.
	Rest time.Duration
	// Join is how long an engine may take to capture a shard before the move is
	// undone, and to drain one before others do not wait for it any more.
	Join time.Duration
	// Avoid is for how long an engine that did not come to capture a shard is not
	// asked again.
	Avoid time.Duration
}

// Shard is what is known of one shard.
type Shard struct {
	// Index in the archive.
	Index int
	// Weight is the load that the shard brings to each engine that captures it, in
	// any unit.
	Weight float64
	// Replicas is how many engines are to capture the shard: 1 or 2; 0 is 1.
	Replicas int
	// Engines in the order of the spec, with what they answered.
	Engines []Slot
	// MovedAt is when the shard was moved last to even out the load.
	MovedAt time.Time
	// Avoid are engines that did not come to capture the shard lately.
	Avoid []string
}

// Slot is an engine of a shard.
type Slot struct {
	Name  string
	Order v1alpha1.EngineOrder
	// Phase is the engine's answer; empty before the first.
	Phase v1alpha1.ShardPhase
	// Ordered is since when the engine has its order; zero: not known.
	Ordered time.Time
}

// Engine is an engine that has a pod.
type Engine struct {
	Name string
	// Node and Zone that it runs on; empty: not known.
	Node, Zone string
	// Capacity is how much it can take beside others, as cores. If that of any
	// engine is not known, which is 0, all count the same.
	Capacity float64
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
	Second     Reason = "Second" // fewer engines captured it than are to
	Apart      Reason = "Apart"  // both its engines were on one node, or in one zone
	Uneven     Reason = "Uneven"
)

// Move is a shard that gets another engine by this decision.
type Move struct {
	Shard    int
	From, To string // From is empty if there was none
	Reason   Reason
}

// Undone is a move that was given up because its target did not come to capture
// the shard in time. The source goes on.
type Undone struct {
	Shard    int
	From, To string
}

// Result is a decision.
type Result struct {
	// Engines of each shard, in the order of Input.Shards.
	Engines [][]v1alpha1.ShardEngine
	// Moves that begin, by shard.
	Moves []Move
	// Undone are moves that end where they began, by shard.
	Undone []Undone
	// Unplaced is the number of shards with a weight that no living engine is to
	// capture; Moving of those that are on the way from one living engine to
	// another; Missing of living engines that shards lack of their Replicas.
	Unplaced, Moving, Missing int
}

// Plan decides. If no engine is usable, all stays as it is: there is nobody to
// take a shard, and who has one goes on.
func Plan(in Input) Result {
	p := newPlan(&in)
	if len(p.usable) > 0 {
		for i := range p.shards {
			p.settle(&p.shards[i])
		}
		p.weigh()
		p.assign()
		p.complete()
		p.leave()
		if in.Rebalance && in.Hold == "" {
			room := p.room()
			room = p.spread(room)
			p.rebalance(room)
		}
	}
	return p.result()
}

// plan is one run of Plan.
type plan struct {
	in      *Input
	engines map[string]*engine
	usable  []*engine // by name
	shards  []shard
	alike   bool    // all engines have the same capacity
	mean    float64 // share of a usable engine
	// shardMean is the weight of a shard.
	shardMean float64
	moves     []Move
	undone    []Undone
}

// engine is an Engine and its load.
type engine struct {
	Engine
	hash uint64
	// load is the weight of the shards that are the engine's once all moves
	// under way are done.
	load float64
}

// share is the load beside the capacity, which is what is evened out.
func (e *engine) share() float64 { return e.load / e.Capacity }

// shard is a Shard that is being decided on.
type shard struct {
	*Shard
	weight   float64
	replicas int
	captures []Slot // living engines with the order Capture, first the one that seals
	drains   []Slot // all others, the living first
	moving   bool   // between two living engines
	lost     Slot   // who was to capture it, if nobody living is
}

// source is the place in captures of the engine that is to go; -1 if none is.
func (s *shard) source() int {
	if len(s.captures) > s.replicas {
		return s.replicas - 1
	}
	return -1
}

// captured says whether an engine is to capture the shard.
func (s *shard) captured(name string) bool {
	return slices.ContainsFunc(s.captures, func(slot Slot) bool { return slot.Name == name })
}

func newPlan(in *Input) *plan {
	p := &plan{in: in, engines: make(map[string]*engine, len(in.Engines))}
	unknown := slices.ContainsFunc(in.Engines, func(e Engine) bool { return e.Capacity <= 0 })
	p.alike = unknown || !slices.ContainsFunc(in.Engines, func(e Engine) bool { return e.Capacity != in.Engines[0].Capacity })
	for _, e := range in.Engines {
		known := &engine{Engine: e, hash: hashName(e.Name)}
		if unknown {
			known.Capacity = 1
		}
		p.engines[e.Name] = known
		if e.Usable && !e.Leaving && !e.Dead {
			p.usable = append(p.usable, known)
		}
	}
	slices.SortFunc(p.usable, func(a, b *engine) int { return cmp.Compare(a.Name, b.Name) })
	p.shards = make([]shard, len(in.Shards))
	base := baseWeight(in.Shards)
	for i := range in.Shards {
		p.shards[i] = p.read(&in.Shards[i])
		p.shards[i].weight = base + max(in.Shards[i].Weight, 0)
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

// overdue says whether an engine had its order for longer than it may take.
func (p *plan) overdue(slot Slot) bool {
	return p.in.Limits.Join > 0 && !slot.Ordered.IsZero() && p.in.Now.Sub(slot.Ordered) >= p.in.Limits.Join
}

func (p *plan) result() Result {
	r := Result{Engines: make([][]v1alpha1.ShardEngine, len(p.shards)), Moves: p.moves, Undone: p.undone}
	slices.SortFunc(r.Moves, func(a, b Move) int { return cmp.Compare(a.Shard, b.Shard) })
	for i := range p.shards {
		s := &p.shards[i]
		for _, slot := range slices.Concat(s.captures, s.drains) {
			r.Engines[i] = append(r.Engines[i], v1alpha1.ShardEngine{Name: slot.Name, Order: slot.Order})
		}
		if s.moving {
			r.Moving++
		}
		if s.Weight <= 0 {
			continue
		}
		living := 0
		for _, slot := range s.captures {
			if p.living(slot.Name) != nil {
				living++
			}
		}
		if living == 0 {
			r.Unplaced++
		}
		r.Missing += max(s.replicas-living, 0)
	}
	return r
}
