package simulate

import (
	"math"
	"slices"
	"time"

	"varve.dev/varve/controllers/placement"
)

// Figures are what came of a trace.
type Figures struct {
	// Start is the load of the most loaded engine beside the mean, when all
	// shards were placed first; Mean and Worst are of it after events.
	Start, Mean, Worst float64
	// Bound is what Worst could have been at best.
	Bound float64
	// Moves are how many engines came to capture a shard, by kind of event, and
	// Events of how many. Fair is how many there had to be: what a lost engine
	// had, or the fair share of a new one.
	Moves, Fair, Events [Kinds]float64
	// Decisions is how many were made, Each and Longest the time they took.
	Decisions     int
	Each, Longest time.Duration
}

// PerEvent is how many moves an event of a kind made.
func (f *Figures) PerEvent(k Kind) float64 { return f.Moves[k] / math.Max(f.Events[k], 1) }

// Run plays a trace to a placer.
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

// fair is how many moves an event needs at least.
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

// moved counts the engines that came to capture a shard.
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

// bound is Bound beside the mean, for as many holders of each shard as there are.
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

// uneven is the load of the most loaded engine beside the mean.
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
