package simulate

import (
	"math"
	"slices"
	"time"

	"varve.dev/varve/controllers/placement"
)

// Figures are the results of a trace.
type Figures struct {
	// Start is the highest load of an engine after the first placement, as a multiple of
	// the mean load. Mean and Worst are the average and the highest of these multiples
	// after the events.
	Start, Mean, Worst float64
	// Bound is a lower limit for Worst that no placement can go below.
	Bound float64
	// Moves counts, by kind of event, how often an engine started to capture a shard.
	// Events counts the events of each kind. Fair is the number of moves that the events
	// required: the shards of a lost engine, or the fair share of a new engine.
	Moves, Fair, Events [Kinds]float64
	// Decisions is the number of decisions. Each and Longest are the average and the
	// longest time of a decision.
	Decisions     int
	Each, Longest time.Duration
}

// PerEvent returns the average number of moves for an event of a kind.
func (f *Figures) PerEvent(k Kind) float64 { return f.Moves[k] / math.Max(f.Events[k], 1) }

// Run passes the initial state and each event of a trace to a placer.
func Run(t *Trace, p Placer) Figures {
	var f Figures
	var spent time.Duration
	engines := slices.Clone(t.Initial)
	place := func(weights []float64) [][]string {
		began := time.Now()
		holders, steps := p.Place(engines, weights)
		took := time.Since(began)
		spent += took
		f.Decisions += steps
		f.Longest = max(f.Longest, took/time.Duration(steps))
		return holders
	}
	before := place(t.Weights)
	f.Start = uneven(before, t.Weights, len(engines))
	for i := range t.Events {
		e := &t.Events[i]
		engines = apply(engines, e)
		after := place(e.Weights)
		f.Events[e.Kind]++
		f.Moves[e.Kind] += moved(before, after)
		engines = slices.DeleteFunc(engines, func(x placement.Engine) bool { return x.Leaving })
		f.Fair[e.Kind] += fair(before, e, len(engines))
		most := uneven(after, e.Weights, len(engines))
		f.Mean += most / float64(len(t.Events))
		f.Worst = max(f.Worst, most)
		f.Bound = max(f.Bound, bound(after, e.Weights, len(engines)))
		before = after
	}
	f.Each = spent / time.Duration(f.Decisions)
	if v, ok := p.(*Varve); ok {
		f.Longest = v.Longest()
	}
	return f
}

func apply(engines []placement.Engine, e *Event) []placement.Engine {
	is := func(x placement.Engine) bool { return x.Name == e.Engine.Name }
	switch e.Kind {
	case Join:
		return append(engines, e.Engine)
	case Leave:
		engines[slices.IndexFunc(engines, is)].Leaving = true
	case Crash:
		return slices.DeleteFunc(engines, is)
	}
	return engines
}

// fair returns the number of moves that an event requires.
func fair(before [][]string, e *Event, engines int) (n float64) {
	switch e.Kind {
	case Join:
		for _, names := range before {
			n += float64(len(names)) / float64(engines)
		}
	case Leave, Crash:
		for _, names := range before {
			if slices.Contains(names, e.Engine.Name) {
				n++
			}
		}
	}
	return n
}

// moved counts how often an engine started to capture a shard.
func moved(before, after [][]string) (n float64) {
	for i := range after {
		for _, name := range after[i] {
			if !slices.Contains(before[i], name) {
				n++
			}
		}
	}
	return n
}

// bound returns Bound as a multiple of the mean load. Each shard counts once per engine
// that captures it.
func bound(holders [][]string, weights []float64, engines int) float64 {
	var each []float64
	sum := 0.0
	for i, names := range holders {
		for range names {
			each = append(each, weights[i])
			sum += weights[i]
		}
	}
	return Bound(each, engines) / (sum / float64(engines))
}

// uneven returns the highest load of an engine as a multiple of the mean load.
func uneven(holders [][]string, weights []float64, engines int) float64 {
	loads := map[string]float64{}
	var most, sum float64
	for i, names := range holders {
		for _, name := range names {
			loads[name] += weights[i]
			most = max(most, loads[name])
			sum += weights[i]
		}
	}
	return most / (sum / float64(engines))
}
