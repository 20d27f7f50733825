// Package moves tells which shards are on their way between engines. It is pure.
//
//	ArchiveShards: orders, answers ──Of──▶ State ──▶ /api/v1/shards ──▶ varve status --watch
package moves

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// State is who captures the shards of an archive, as JSON has it.
type State struct {
	// Shards is the number of shards that exist.
	Shards int `json:"shards"`
	// Engines that shards name, by name.
	Engines []Engine `json:"engines"`
	// Moves under way, by shard.
	Moves []Move `json:"moves"`
}

// Engine counts shards by what the engine answered last.
type Engine struct {
	Engine    string `json:"engine"`
	Joining   int    `json:"joining"`
	Capturing int    `json:"capturing"`
	Draining  int    `json:"draining"`
}

// Move is one step of a shard.
type Move struct {
	Shard int `json:"shard"`
	// From is the engine that is to stop, or will be when To captures; empty if
	// none is: the shard had no engine, or gets a second one.
	From string `json:"from,omitempty"`
	// To is the engine that captures the shard then; empty if nobody is to.
	To string `json:"to,omitempty"`
	// Phase is that of To until it captures, and then that of From: a
	// v1alpha1.ShardPhase, or Ordered before the engine has answered, or Unplaced.
	Phase string `json:"phase"`
	// Since is when the engine came to that phase; nil if it is not known.
	Since *time.Time `json:"since,omitempty"`
	// Message is the engine's, if anything is wrong.
	Message string `json:"message,omitempty"`
}

// Phases of moves besides those of engines.
const (
	Ordered  = "Ordered"
	Unplaced = "Unplaced"
)

// Of returns the state of shards, in any order. replicas says how many engines are to
// capture the one of an index.
func Of(shards []*v1alpha1.ArchiveShard, replicas func(index int) int) State {
	state := State{Shards: len(shards), Engines: []Engine{}, Moves: []Move{}}
	engines := map[string]*Engine{}
	for _, s := range shards {
		if s.Spec.Index == nil {
			continue
		}
		answers := answersOf(s)
		state.Moves = append(state.Moves, steps(s, answers, replicas(int(*s.Spec.Index)))...)
		for _, e := range s.Spec.Engines {
			if engines[e.Name] == nil {
				engines[e.Name] = &Engine{Engine: e.Name}
			}
			engines[e.Name].count(answers[e.Name].Phase)
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

func answersOf(s *v1alpha1.ArchiveShard) map[string]v1alpha1.ShardEngineStatus {
	answers := map[string]v1alpha1.ShardEngineStatus{}
	if s.Status != nil {
		for _, e := range s.Status.Engines {
			answers[e.Name] = e
		}
	}
	return answers
}

// steps returns what is under way in one shard. If more engines are to capture it than
// replicas, the one before the last is to go: see package placement.
func steps(s *v1alpha1.ArchiveShard, answers map[string]v1alpha1.ShardEngineStatus, replicas int) (out []Move) {
	var captures, drains []string
	for _, e := range s.Spec.Engines {
		switch {
		case e.Order == v1alpha1.OrderCapture:
			captures = append(captures, e.Name)
		case answers[e.Name].Phase != v1alpha1.Drained:
			drains = append(drains, e.Name)
		}
	}
	step := func(from, to, of string) {
		a := answers[of]
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
		if source != "" || answers[name].Phase != v1alpha1.Capturing {
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
