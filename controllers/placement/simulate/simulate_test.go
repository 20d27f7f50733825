package simulate_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
	"varve.dev/varve/controllers/placement/simulate"
)

// small is the archive of docs/design/placement.md, scaled down.
var small = simulate.Config{PVs: 200_000, Engines: 40, Shards: 1024, Nodes: 20, Zones: 3, Events: 64}

// The same config always gives the same trace. The other placers show their known imbalance
// and number of moves.
func TestOtherPlacers(t *testing.T) {
	trace := simulate.New(small)
	if !reflect.DeepEqual(trace, simulate.New(small)) {
		t.Error("the same config gives different traces")
	}
	varve := simulate.Run(trace, &simulate.Varve{Replicas: 1})
	rendezvous := simulate.Run(trace, simulate.Rendezvous())
	ring := simulate.Run(trace, simulate.Ring())
	mod := simulate.Run(trace, simulate.HashMod())
	if rendezvous.Mean < varve.Mean || mod.Mean < varve.Mean {
		t.Errorf("the highest load as a multiple of the mean: Varve %.2f, rendezvous %.2f, hash-mod %.2f", varve.Mean, rendezvous.Mean, mod.Mean)
	}
	if n := rendezvous.PerEvent(simulate.Leave); n != rendezvous.Fair[simulate.Leave]/rendezvous.Events[simulate.Leave] {
		t.Errorf("rendezvous moves %.1f shards when an engine leaves", n)
	}
	if ring.Worst > math.Max(1.16, ring.Bound+0.01) {
		t.Errorf("the most loaded engine of a ring with bounded loads has %.2f times the mean load", ring.Worst)
	}
	if n := mod.PerEvent(simulate.Join); n < 900 {
		t.Errorf("hash-mod moves %.1f of 1024 shards when an engine joins", n)
	}
}

// After each event, the most loaded engine has at most 1.15 times the mean load, or as much as
// Figures.Bound if the heaviest shards make that unavoidable. Few more shards move than the
// events require.
func TestPlacement(t *testing.T) { place(t, 0, 1) }

func TestLong_Placement(t *testing.T) { place(t, 1, 3) }

// place runs the simulation with each seed from first to last-1.
func place(t *testing.T, first, last uint64) {
	for _, replicas := range []int{1, 2} {
		for seed := first; seed < last; seed++ {
			cfg := small
			cfg.Seed = seed
			f := simulate.Run(simulate.New(cfg), &simulate.Varve{Replicas: replicas, Check: func(in placement.Input, r placement.Result) {
				checkPure(t, in, r)
				checkApart(t, in, r)
			}})
			// Each shard counts with its load plus a hundredth of the mean load of a shard.
			if limit := math.Max(1+placement.Imbalance, f.Bound) + 0.01; f.Worst > limit {
				t.Errorf("%d engines per shard, seed %d: the most loaded engine has %.3f times the mean load, want at most %.3f", replicas, seed, f.Worst, limit)
			}
			for kind, factor := range map[simulate.Kind]float64{simulate.Join: 1.25, simulate.Leave: 1.5, simulate.Crash: 1.5} {
				if f.Moves[kind] > factor*f.Fair[kind] {
					t.Errorf("%d engines per shard, seed %d, %v: %.0f moves, but the events require %.0f", replicas, seed, kind, f.Moves[kind], f.Fair[kind])
				}
			}
			if f.Decisions > 50*cfg.Events {
				t.Errorf("%d decisions for %d events", f.Decisions, cfg.Events)
			}
		}
	}
}

// checkPure asserts that a decision depends only on its input, and not on the order of the
// engines in it.
func checkPure(t *testing.T, in placement.Input, r placement.Result) {
	t.Helper()
	in.Engines = slices.Clone(in.Engines)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(in.Engines), func(i, j int) {
		in.Engines[i], in.Engines[j] = in.Engines[j], in.Engines[i]
	})
	again := placement.Plan(in)
	same := slices.EqualFunc(again.Engines, r.Engines, slices.Equal[[]v1alpha1.ShardEngine])
	again.Engines, r.Engines = nil, nil // reflect.DeepEqual takes far longer for them
	if !same || !reflect.DeepEqual(again, r) {
		t.Fatal("the same input gives a different decision")
	}
}

// checkApart asserts that each shard has the requested number of engines, on different
// nodes.
func checkApart(t *testing.T, in placement.Input, r placement.Result) {
	t.Helper()
	nodes := map[string]string{}
	for _, e := range in.Engines {
		nodes[e.Name] = e.Node
	}
	for i, engines := range r.Engines {
		var on []string
		for _, e := range engines {
			if e.Order == v1alpha1.OrderCapture {
				on = append(on, nodes[e.Name])
			}
		}
		want := in.Shards[i].Replicas
		if len(on) == want+1 { // the last engine will replace the one before it
			on = slices.Delete(on, want-1, want)
		}
		if len(on) != want || want == 2 && on[0] == on[1] {
			t.Fatalf("shard %d is captured on nodes %v", i, on)
		}
	}
}

// No shard moves while the load is constant except for noise.
func TestNoisyLoad(t *testing.T) {
	trace := simulate.New(small)
	v := &simulate.Varve{Replicas: 1}
	before, _ := v.Place(trace.Initial, trace.Weights)
	r := rand.New(rand.NewPCG(1, 1))
	for range 60 {
		weights := slices.Clone(trace.Weights)
		for i := range weights {
			weights[i] *= 1 + 0.05*r.NormFloat64()
		}
		after, _ := v.Place(trace.Initial, weights)
		if !reflect.DeepEqual(before, after) {
			t.Fatal("shards moved although the load changed only by noise")
		}
	}
}

// If the load of some shards increases by a factor of 20, these shards are spread over the
// engines. After that, no shard moves.
func TestHotGroup(t *testing.T) {
	weights := make([]float64, 64)
	for i := range weights {
		weights[i] = 1000
		if i < 16 {
			weights[i] *= 20
		}
	}
	var engines []placement.Engine
	for _, name := range []string{"a", "b", "c", "d"} {
		engines = append(engines, placement.Engine{Name: name, Usable: true})
	}
	v := &simulate.Varve{Replicas: 1}
	before, _ := v.Place(engines, slices.Repeat([]float64{1000}, 64))
	after, _ := v.Place(engines, weights)
	loads, moved := map[string]float64{}, 0
	for i, names := range after {
		loads[names[0]] += weights[i]
		if names[0] != before[i][0] {
			moved++
		}
	}
	for name, load := range loads {
		if mean := 92_000.0; load > (1+placement.Imbalance)*mean {
			t.Errorf("engine %s has load %.0f, but the mean is %.0f", name, load, mean)
		}
	}
	if moved > 16 {
		t.Errorf("%d of 64 shards moved", moved)
	}
	if again, _ := v.Place(engines, weights); !reflect.DeepEqual(again, after) {
		t.Error("shards moved again after the load was spread")
	}
}

// TestBound tests the lower limit for the load of the most loaded engine.
func TestBound(t *testing.T) {
	for _, tc := range []struct {
		weights []float64
		engines int
		want    float64
	}{
		{[]float64{1, 1, 1, 1}, 2, 2},
		{[]float64{9, 1, 1, 1}, 2, 9},
		{[]float64{4, 4, 4}, 2, 8}, // two of them are on one engine
		{[]float64{5, 4, 3, 1}, 2, 7},
	} {
		if got := simulate.Bound(tc.weights, tc.engines); got != tc.want {
			t.Errorf("%v on %d engines: %v, want %v", tc.weights, tc.engines, got, tc.want)
		}
	}
}
