// Package moves derives the shard moves under way from the orders and phases in
// ArchiveShards. It is pure. Retrieval pods serve the result, and the varve command shows it:
//
//	ArchiveShards: orders, phases ──StateOf──▶ State ──▶ /api/v1/shards ──▶ varve status --watch
package moves

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// State lists the engines that have orders for the shards of an archive, and the shard moves
// under way.
type State struct {
	// Shards is the number of shards that exist.
	Shards int `json:"shards"`
	// Engines are the engines with an order to capture or to drain a shard, sorted by name.
	Engines []Engine `json:"engines"`
	// Moves are the moves under way, sorted by shard.
	Moves []Move `json:"moves"`
}

// Engine counts the shards of an engine by the phase that the engine last reported.
type Engine struct {
	Engine    string `json:"engine"`
	Joining   int    `json:"joining"`
	Capturing int    `json:"capturing"`
	Draining  int    `json:"draining"`
}

// Move is one step of a shard move.
type Move struct {
	Shard int `json:"shard"`
	// From is the engine that has the order to drain, or gets it when To captures. It is
	// empty if the shard had no engine before, or gets a second one.
	From string `json:"from,omitempty"`
	// To is the engine that captures the shard after the move, or empty if there is none.
	To string `json:"to,omitempty"`
	// Phase is the phase of To until From has the order to drain, then the phase of From. It is a
	// v1alpha1.ShardPhase, or Ordered before the engine has reported one, or Unplaced.
	Phase string `json:"phase"`
	// Since is when the engine entered the phase, or nil if that is not known.
	Since *time.Time `json:"since,omitempty"`
	// Message is the engine's message if something is wrong.
	Message string `json:"message,omitempty"`
}

// Phases of moves in addition to v1alpha1.ShardPhase.
const (
	Ordered  = "Ordered"  // the engine has not reported a phase yet
	Unplaced = "Unplaced" // no engine has the order to capture the shard
)

// StateOf returns the state of an archive's shards. replicas returns how many engines
// should capture the shard with the given index.
func StateOf(shards []*v1alpha1.ArchiveShard, replicas func(index int) int) State {
	state := State{Shards: len(shards), Engines: []Engine{}, Moves: []Move{}}
	engines := map[string]*Engine{}
	for _, s := range shards {
		if s.Spec.Index == nil {
			continue
		}
		reported := entriesOf(s)
		state.Moves = append(state.Moves, steps(s, reported, replicas(int(*s.Spec.Index)))...)
		for _, e := range s.Spec.Engines {
			if engines[e.Name] == nil {
				engines[e.Name] = &Engine{Engine: e.Name}
			}
			engines[e.Name].count(reported[e.Name].Phase)
		}
	}
	slices.SortStableFunc(state.Moves, func(a, b Move) int { return cmp.Compare(a.Shard, b.Shard) })
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		state.Engines = append(state.Engines, *engines[name])
	}
	return state
}

func (e *Engine) count(p v1alpha1.ShardPhase) {
	switch p {
	case v1alpha1.Joining:
		e.Joining++
	case v1alpha1.Capturing:
		e.Capturing++
	case v1alpha1.Draining:
		e.Draining++
	}
}

func entriesOf(s *v1alpha1.ArchiveShard) map[string]v1alpha1.ShardEngineStatus {
	entries := map[string]v1alpha1.ShardEngineStatus{}
	if s.Status != nil {
		for _, e := range s.Status.Engines {
			entries[e.Name] = e
		}
	}
	return entries
}

// steps returns the steps under way for one shard. If more than replicas engines have the
// order to capture it, the last but one will be replaced by the last: see package placement.
func steps(s *v1alpha1.ArchiveShard, reported map[string]v1alpha1.ShardEngineStatus, replicas int) (out []Move) {
	var captures, drains []string
	for _, e := range s.Spec.Engines {
		switch {
		case e.Order == v1alpha1.OrderCapture:
			captures = append(captures, e.Name)
		case reported[e.Name].Phase != v1alpha1.Drained:
			drains = append(drains, e.Name)
		}
	}
	step := func(from, to, of string) {
		a := reported[of]
		m := Move{Shard: int(*s.Spec.Index), From: from, To: to, Phase: cmp.Or(string(a.Phase), Ordered), Message: a.Message}
		if a.Since != nil {
			m.Since = new(a.Since.UTC())
		}
		out = append(out, m)
	}
	last := ""
	for i, name := range captures {
		source := ""
		if i > 0 && i == len(captures)-1 && len(captures) > replicas {
			source = captures[i-1]
		}
		if source != "" || reported[name].Phase != v1alpha1.Capturing {
			step(source, name, name)
		}
		last = name
	}
	for _, name := range drains {
		step(name, last, name)
	}
	if len(captures) == 0 && s.Spec.Channels > 0 {
		out = append(out, Move{Shard: int(*s.Spec.Index), Phase: Unplaced})
	}
	return out
}
