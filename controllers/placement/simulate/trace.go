// Package simulate compares package placement with other algorithms that place shards. It
// applies the events of a large archive to each of them. The results depend only on the
// input, except for the measured time of decisions.
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

// Config contains the parameters of a trace.
type Config struct {
	PVs, Engines, Shards int
	// Nodes and Zones are the numbers of nodes and zones. Engines are assigned to them
	// round-robin.
	Nodes, Zones int
	// Events is the number of events. The kinds of events alternate.
	Events int
	Seed   uint64
}

// Trace is the initial state of an archive and a sequence of events.
type Trace struct {
	Config
	Initial []placement.Engine
	Weights []float64 // initial weights, by shard
	Events  []Event
}

// Kind is the kind of an event.
type Kind int

// These are the kinds of events. Kinds is their number.
const (
	Join  Kind = iota // an engine joins
	Leave             // an engine leaves in order
	Crash             // an engine disappears at once
	Drift             // the load changes; one shard weighs twice as much until the next drift
	Noise             // the measured load varies by a few percent for one event
	Kinds
)

func (k Kind) String() string { return [...]string{"join", "leave", "crash", "drift", "noise"}[k] }

// Event is one event, with the weights that are measured after it.
type Event struct {
	Kind    Kind
	Engine  placement.Engine // engine that joins, leaves or crashes
	Weights []float64        // measured, by shard
}

// The PVs of a device are in one shard, as with shardBy. The rates of devices, and of the PVs
// of a device, have log-normal distributions. This is typical of accelerators: most PVs are
// almost idle, and a few cause most of the load.
const (
	perDevice    = 100
	medianRate   = 0.1 // samples/s of a PV
	deviceSpread = 1.0 // standard deviation of the logarithm
	pvSpread     = 1.5
	driftSpread  = 0.1
	driftKept    = 0.9 // share of the previous drift that remains, so that drift is bounded
	noiseSpread  = 0.03
)

// New creates a trace. The same config always gives the same trace.
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

// happen creates the events. An engine joins before another one leaves or crashes, so the
// number of engines stays almost constant.
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

// Bound returns a lower limit for the load of the most loaded engine. No placement goes
// below the mean load. Among the k*engines+1 heaviest shards, at least k+1 share an engine,
// so no placement goes below the load of the k+1 lightest of these shards either. Bound
// returns the largest of these limits.
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
