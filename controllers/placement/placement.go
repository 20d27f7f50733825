// Package placement decides which engine captures which shard. Plan is pure and has no memory:
// it depends only on its input, so an operator makes the same decision after a restart.
// docs/design/placement.md describes how it decides.
//
//	shards: engines, orders, phases ──┐
//	engines: usable, leaving, dead ───┤
//	reports: who holds which shard ───┼──▶ Plan ──▶ engines and orders of each shard; Moves, Undone
//	reports: loads ──▶ Smoother ──────┤
//	reports: what engines see ────┐   │
//	earlier decisions ──▶ Memory ─┴───┘
//
// Plan takes these steps, in this order:
//
//	advanceMoves    continue, finish or give up the moves under way
//	assign          give shards that no engine captures to an engine
//	addSeconds      give a second engine to shards that lack one
//	moveOffLeaving  begin to move shards off engines that are shutting down
//	moveOffBlind    begin to move shards off engines that do not reach their IOCs
//	probe           begin to move a shard to an engine that may reach its IOCs again
//	separate        begin to move the two engines of a shard to different nodes and zones
//	rebalance       begin the fewest moves that even out the load
//
// A shard moves from A to B in steps, at most one per call. Each step follows an
// answer of an engine (orders in parentheses):
//
//	A(Capture) ─▶ A(Capture) B(Capture) ─▶ B(Capture) A(Drain) ─▶ B(Capture)
//	                  B answers Capturing, ─▲     A answers Drained ──▲
//	                  and sees enough
//
// B sees enough if it has not connected far fewer channels than A. Otherwise A continues, the
// move is undone after its time limit, and B is blind: it gets no shards until it sees again.
//
// The first engine of a shard seals it. If both S and A capture the shard, S stays
// first. When A moves to B, the order becomes S, A, B: the source of a move is always
// right before its target. A shard is in at most one move at a time.
package placement

import (
	"cmp"
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// Imbalance is how much the load of an engine may differ from the mean, as a part of the mean.
const Imbalance = 0.15

// maxEngines is the highest number of engines of a shard that the API accepts. maxReplicas is
// the highest number of engines that capture a shard when it does not move.
const maxEngines, maxReplicas = 4, 2

// Input is everything that a decision depends on.
type Input struct {
	// Shards are the shards of the archive, by index.
	Shards []Shard
	// Engines are the engines that have a pod. An engine without a pod captures
	// nothing.
	Engines []Engine
	// Holding has, by index of the shard, the engines that report the shard, in order of
	// preference.
	Holding map[int][]Holder
	// Rebalance reports whether shards may move to even out the load, and to bring
	// the two engines of a shard further apart.
	Rebalance bool
	// Hold is the reason why no such move may begin at present although Rebalance is on, for
	// example because Cassandra is being scaled. It is empty if moves may begin. Shards of
	// dead and leaving engines move in any case.
	Hold string

	// Now is the current time, by the clock of all other times here.
	Now    time.Time
	Limits Limits
	// Begun is the number of moves for Rebalance that began in the last minute.
	Begun int
}

// Limits bound moves. A duration of zero means no limit.
type Limits struct {
	// AtOnce limits moves for Rebalance. Such a move begins only while fewer than AtOnce
	// shards move, for any reason.
	AtOnce int
	// PerMinute is the maximum number of moves for Rebalance that begin in a minute; 0 means
	// no limit.
	PerMinute int
	// Rest is the minimum time between two moves of a shard for Rebalance.
	Rest time.Duration
	// Join is the time limit for an engine to capture or drain a shard. If the engine does not
	// capture the shard in time, the move is undone. If it does not drain the shard in time,
	// other engines no longer wait for it.
	Join time.Duration
	// Leave replaces Join for the target of a move off an engine that is leaving, if the target
	// captures the shard but sees far less of it than the source. The source does not wait for
	// as long as Join.
	Leave time.Duration
	// Avoid is the time for which an engine that did not capture a shard in time does not get
	// that shard again. After this time a blind engine gets a shard on trial.
	Avoid time.Duration
	// Blind is how long an engine must fail to reach hosts that other engines reach before it
	// counts as blind.
	Blind time.Duration
}

// Shard is the state of one shard.
type Shard struct {
	// Index is the index of the shard in the archive.
	Index int
	// Weight is the load that the shard adds to each engine that captures it, in any
	// unit.
	Weight float64
	// Replicas is how many engines should capture the shard: 1 or 2. 0 means 1.
	Replicas int
	// Engines are the engines in the order of the spec, with their answers.
	Engines []Slot
	// MovedAt is when the shard last moved for Rebalance.
	MovedAt time.Time
	// Avoid are the engines that recently did not capture the shard in time.
	Avoid []string
	// Reached is how many channels of the shard an engine last reached steadily. Disconnected
	// channels lower it only after a day. It is 0 if unknown.
	Reached int
	// Reaching are the engines that are connected to hosts which an engine of the shard does not
	// reach.
	Reaching []string
	// Suspect reports whether the shard may move to find out why its engine lacks a part of it.
	// Memory bounds how often an engine's shards may do so.
	Suspect bool
	// Probe is a blind engine that may get the shard on trial, or "".
	Probe string
}

// Slot is an engine of a shard.
type Slot struct {
	Name  string
	Order v1alpha1.EngineOrder
	// Phase is the engine's answer. It is empty before the first answer.
	Phase v1alpha1.ShardPhase
	// Ordered is the time when the engine got its order. It is zero if unknown.
	Ordered time.Time
	// Sight is how much of the shard the engine reaches.
	Sight Sight
}

// Engine is an engine that has a pod.
type Engine struct {
	Name string
	// Node and Zone are the node and zone in which the engine runs. They are empty if unknown.
	Node, Zone string
	// Capacity is how much load the engine can take relative to others, for example in cores.
	// It is 0 if unknown. If the capacity of any engine is unknown, all engines count the
	// same.
	Capacity float64
	// Usable reports whether the engine may get shards.
	Usable bool
	// Leaving reports whether the engine is shutting down. It continues to capture its shards
	// until other engines capture them.
	Leaving bool
	// Dead reports whether the engine is assumed to capture nothing. It may still capture in
	// fact.
	Dead bool
	// Blind reports whether the engine does not reach hosts that other engines reach. It keeps
	// the shards that it sees, and gets no other shards unless no other engine can take them.
	Blind bool
}

// Holder is an engine that reports to capture a shard.
type Holder struct {
	Name string
	// Orphaned reports whether the shard does not name the engine. Such an engine continues to
	// capture until it gets the order to drain.
	Orphaned bool
}

// Reason is the reason why a shard got another engine.
type Reason string

// These are the reasons of moves.
const (
	Unassigned Reason = "Unassigned" // no engine captured the shard
	Adopted    Reason = "Adopted"    // an engine captured the shard, but the shard did not name it
	Dead       Reason = "Dead"       // the engine died
	Leaving    Reason = "Leaving"    // the engine is shutting down
	Second     Reason = "Second"     // the shard lacked a second engine
	Apart      Reason = "Apart"      // both engines of the shard ran on one node, or in one zone
	Uneven     Reason = "Uneven"     // the load of engines was uneven
	Blind      Reason = "Blind"      // the engine lacked a part of the shard
	Probe      Reason = "Probe"      // a blind engine gets a shard on trial
)

// Move is the decision that a shard gets another engine.
type Move struct {
	Shard    int
	From, To string // From is empty if the shard had no engine
	Reason   Reason
}

// Undone is a move that is given up because its target did not capture the shard in time. The
// source continues to capture the shard.
type Undone struct {
	Shard    int
	From, To string
	// Fewer reports whether the target captured the shard, but had connected far fewer channels
	// than the source.
	Fewer bool
}

// Result is a decision.
type Result struct {
	// Engines are the engines of each shard, in the order of Input.Shards.
	Engines [][]v1alpha1.ShardEngine
	// Moves are the moves that begin, by shard.
	Moves []Move
	// Undone are the moves that are given up, by shard.
	Undone []Undone
	// Unplaced is the number of shards with a weight but without a living engine.
	Unplaced int
	// Moving is the number of shards that move between two living engines.
	Moving int
	// Missing is the number of living engines that shards lack to reach their Replicas.
	Missing int
}

// Plan decides which engines capture which shard, and with which orders. If no engine is
// usable, everything stays as it is.
func Plan(in Input) Result {
	p := newPlan(&in)
	if len(p.usable) > 0 {
		p.advanceMoves()
		p.sumLoads()
		p.assign()
		p.addSeconds()
		p.moveOffLeaving()
		room := p.moveOffBlind(p.movesLeft())
		if in.Rebalance && in.Hold == "" {
			p.rebalance(p.separate(p.probe(room)))
		}
	}
	return p.result()
}

// plan is one run of Plan.
type plan struct {
	in      *Input
	engines map[string]*engine
	usable  []*engine // by name
	seeing  []*engine // the usable engines that are not blind, or all if all are blind
	shards  []shard
	alike   bool    // all engines have the same capacity
	mean    float64 // mean share of the engines in seeing
	// shardMean is the mean weight of a shard.
	shardMean float64
	moves     []Move
	undone    []Undone
}

// engine is an Engine and its load.
type engine struct {
	Engine
	hash uint64
	// load is the weight of the shards that the engine will capture after all moves under way.
	load float64
}

// share is the load per capacity. Rebalancing evens out shares.
func (e *engine) share() float64 { return e.load / e.Capacity }

// shard is a Shard during a run of Plan.
type shard struct {
	*Shard
	weight   float64
	replicas int
	captures []Slot // living engines with the order Capture; the first one seals
	drains   []Slot // all other engines, the living ones first
	moving   bool   // the shard moves between two living engines
	lost     Slot   // the engine that should have captured the shard, but is gone or dead
}

// source returns the index in captures of the engine that the shard moves off, or -1 if the
// shard does not move.
func (s *shard) source() int {
	if len(s.captures) > s.replicas {
		return s.replicas - 1
	}
	return -1
}

// captured reports whether an engine should capture the shard.
func (s *shard) captured(name string) bool {
	return slices.ContainsFunc(s.captures, func(slot Slot) bool { return slot.Name == name })
}

// newPlan prepares a run of Plan.
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
	p.seeing = slices.DeleteFunc(slices.Clone(p.usable), func(e *engine) bool { return e.Blind })
	if len(p.seeing) == 0 {
		p.seeing = p.usable
	}
	p.shards = make([]shard, len(in.Shards))
	base := baseWeight(in.Shards)
	for i := range in.Shards {
		p.shards[i] = p.readShard(&in.Shards[i])
		p.shards[i].weight = base + max(in.Shards[i].Weight, 0)
	}
	return p
}

// baseWeight returns the weight of a shard without load. This weight spreads empty shards over
// the engines as well.
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

// living returns an engine, or nil if it is dead or has no pod.
func (p *plan) living(name string) *engine {
	if e := p.engines[name]; e != nil && !e.Dead {
		return e
	}
	return nil
}

// overdue reports whether an engine has had its order for at least a limit. A limit of 0 never
// passes.
func (p *plan) overdue(slot *Slot, limit time.Duration) bool {
	return limit > 0 && !slot.Ordered.IsZero() && p.in.Now.Sub(slot.Ordered) >= limit
}

// result returns the decision.
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
