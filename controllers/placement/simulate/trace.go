// Package simulate plays the life of a large archive to package placement, and to
// other ways to place shards, to compare them. It is pure but for the clock that
// measures how long deciding takes.
//
//	Config ──New──▶ Trace: PVs ─▶ weights of shards, then events ──Run──▶ Figures
//	                       engines                     │                      ▲
//	                                                   └──▶ a Placer, after each
package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"varve.dev/varve/controllers/placement"
)

// Config is what a trace is made of.
type Config struct {
	PVs, Engines, Shards int
	// Nodes and Zones that engines run on, in turn.
	Nodes, Zones int
	// Events is the number of events, of all kinds in turn.
	Events int
	Seed   uint64
}

// Trace is what happens to an archive.
type Trace struct {
	Config
	Initial []placement.Engine
	Weights []float64 // at the start, by shard
	Events  []Event
}

// Kind of an event.
type Kind int

// Kinds.
const (
	Join  Kind = iota // an engine comes
	Leave             // an engine is asked to end
	Crash             // an engine is gone at once
	Drift             // the load changes, and one shard is twice as heavy until the next
	Noise             // the load wavers by some percent, and comes back
	Kinds
)

func (k Kind) String() string { return [...]string{"join", "leave", "crash", "drift", "noise"}[k] }

// Event is what happens, and what holds from then on.
type Event struct {
	Kind    Kind
	Engine  placement.Engine // that came or goes
	Weights []float64        // measured, by shard
}

// PVs come in devices, each of which is in one shard, as with shardBy. How busy a
// device is, and a PV beside others of its device, spreads as in control rooms:
// most are nearly idle, and a few make most of the load.
const (
	perDevice    = 100
	medianRate   = 0.1 // samples/s of a PV
	deviceSpread = 1.0 // of the logarithm
	pvSpread     = 1.5
	driftSpread  = 0.1
	driftKept    = 0.9 // of drift before, so that it does not go on for ever
	noiseSpread  = 0.03
)

// New makes a trace, the same one for the same config.
func New(cfg Config) *Trace {
	t := &Trace{Config: cfg, Weights: make([]float64, cfg.Shards)}
	r := rand.New(rand.NewPCG(cfg.Seed, 1))
	loads := make([]placement.Load, cfg.Shards)
	for done := 0; done < cfg.PVs; done += perDevice {
		l := &loads[r.IntN(cfg.Shards)]
		busy := medianRate * math.Exp(deviceSpread*r.NormFloat64())
		for range min(perDevice, cfg.PVs-done) {
			l.SamplesPerSecond += min(busy*math.Exp(pvSpread*r.NormFloat64()), 100)
			l.Channels++
		}
	}
	for i := range loads {
		t.Weights[i] = loads[i].Cost()
	}
	for range cfg.Engines {
		t.Initial = append(t.Initial, t.engine(len(t.Initial)))
	}
	t.happen(r)
	return t
}

func (t *Trace) engine(n int) placement.Engine {
	return placement.Engine{
		Name: fmt.Sprintf("main-engine-%05d", n), Usable: true,
		Node: fmt.Sprint("node-", n%t.Nodes), Zone: fmt.Sprint("zone-", n%t.Nodes%t.Zones),
	}
}

// happen makes the events. Joins and what takes engines away are in turn, so that
// there are always about as many.
func (t *Trace) happen(r *rand.Rand) {
	there, made := slices.Clone(t.Initial), len(t.Initial)
	weights, drift := t.Weights, make([]float64, len(t.Weights))
	for i := range t.Config.Events {
		e := Event{Kind: []Kind{Join, Drift, Leave, Noise, Join, Drift, Crash, Noise}[i%8]}
		measured := weights
		switch e.Kind {
		case Join:
			e.Engine = t.engine(made)
			there, made = append(there, e.Engine), made+1
		case Leave, Crash:
			at := r.IntN(len(there))
			e.Engine = there[at]
			there = slices.Delete(there, at, at+1)
		case Drift:
			weights = slices.Clone(t.Weights)
			for i := range weights {
				drift[i] = driftKept*drift[i] + driftSpread*r.NormFloat64()
				weights[i] *= math.Exp(drift[i])
			}
			weights[r.IntN(len(weights))] *= 2
			measured = weights
		default:
			measured = slices.Clone(weights)
			for i := range measured {
				measured[i] *= math.Exp(noiseSpread * r.NormFloat64())
			}
		}
		e.Weights = measured
		t.Events = append(t.Events, e)
	}
}

// Bound is a load that some engine has at least, however shards are placed: that of
// the mean, of the heaviest shard, or of k+1 shards where more than k times as many
// heavy ones are to be had as engines.
func Bound(weights []float64, engines int) float64 {
	sorted := slices.Clone(weights)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	sum := 0.0
	for _, w := range sorted {
		sum += w
	}
	best := sum / float64(engines)
	for k := 0; k*engines < len(sorted); k++ {
		last, some := k*engines, 0.0
		for _, w := range sorted[last-k : last+1] {
			some += w
		}
		best = max(best, some)
	}
	return best
}
