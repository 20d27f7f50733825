package placement_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
)

// fleet is a simulated set of engines. Like the agent, an engine follows an order after a
// delay, and it stops capturing only when another engine captures.
type fleet struct {
	rng     *rand.Rand
	engines map[string]*placement.Engine
	weights []float64
	spec    [][]v1alpha1.ShardEngine
	// phases holds the phases of each shard by engine. An engine without an entry does not
	// hold the shard. answers holds the phases in the status of each shard.
	phases, answers []map[string]v1alpha1.ShardPhase
	added           int
	moves           []placement.Move
}

func newFleet(seed uint64, shards, engines int, weight func(*rand.Rand) float64) *fleet {
	f := &fleet{rng: rand.New(rand.NewPCG(seed, 0)), engines: map[string]*placement.Engine{}}
	for range shards {
		f.weights = append(f.weights, weight(f.rng))
		f.phases = append(f.phases, map[string]v1alpha1.ShardPhase{})
		f.answers = append(f.answers, map[string]v1alpha1.ShardPhase{})
	}
	f.spec = make([][]v1alpha1.ShardEngine, shards)
	for range engines {
		f.add()
	}
	return f
}

func (f *fleet) add() {
	f.added++
	name := fmt.Sprintf("main-engine-%d", f.added)
	f.engines[name] = &placement.Engine{Name: name, Usable: true}
}

// pick returns an engine that is neither leaving nor dead.
func (f *fleet) pick() *placement.Engine {
	for _, name := range slices.Sorted(maps.Keys(f.engines)) {
		if e := f.engines[name]; !e.Leaving && !e.Dead && f.rng.IntN(3) == 0 {
			return e
		}
	}
	return nil
}

// removePod removes an engine's pod.
func (f *fleet) removePod(name string) {
	delete(f.engines, name)
	for _, phases := range f.phases {
		delete(phases, name)
	}
}

func (f *fleet) input() placement.Input {
	in := placement.Input{Rebalance: true, Limits: placement.Limits{AtOnce: 8}, Holding: map[int][]placement.Holder{}}
	for _, name := range slices.Sorted(maps.Keys(f.engines)) {
		in.Engines = append(in.Engines, *f.engines[name])
		for i, phases := range f.phases {
			if p := phases[name]; p != "" && p != v1alpha1.Drained {
				in.Holding[i] = append(in.Holding[i], placement.Holder{Name: name, Orphaned: !f.named(i, name)})
			}
		}
	}
	for i, engines := range f.spec {
		s := placement.Shard{Index: i, Weight: f.weights[i]}
		for _, e := range engines {
			s.Engines = append(s.Engines, placement.Slot{Name: e.Name, Order: e.Order, Phase: f.answers[i][e.Name]})
		}
		in.Shards = append(in.Shards, s)
	}
	return in
}

// plan makes and applies a decision. It reports whether the decision changed any order.
func (f *fleet) plan(t *testing.T) bool {
	t.Helper()
	in := f.input()
	r := placement.Plan(in)
	f.moves = append(f.moves, r.Moves...)
	changed := !sameEngines(f.spec, r.Engines)
	f.spec = r.Engines
	for i, answers := range f.answers {
		maps.DeleteFunc(answers, func(name string, _ v1alpha1.ShardPhase) bool { return !f.named(i, name) })
	}
	if again := placement.Plan(f.input()); !sameEngines(again.Engines, r.Engines) {
		t.Fatalf("a second decision changes the result of the first: %s", cmp.Diff(r.Engines, again.Engines))
	}
	return changed
}

// sameEngines compares the engines of all shards. reflect.DeepEqual takes far longer.
func sameEngines(a, b [][]v1alpha1.ShardEngine) bool {
	return slices.EqualFunc(a, b, slices.Equal[[]v1alpha1.ShardEngine])
}

// answer updates the status of a random half of the engines. Dead engines do nothing.
func (f *fleet) answer() {
	for i, engines := range f.spec {
		successor := ""
		for _, e := range engines {
			if e.Order == v1alpha1.OrderCapture && f.phases[i][e.Name] == v1alpha1.Capturing {
				successor = e.Name
			}
		}
		for _, e := range engines {
			if known := f.engines[e.Name]; known == nil || known.Dead || f.rng.IntN(2) == 0 {
				continue
			}
			f.answers[i][e.Name] = next(e.Order, f.phases[i][e.Name], successor != "")
			f.phases[i][e.Name] = f.answers[i][e.Name]
		}
	}
	for _, e := range f.engines {
		if e.Leaving && f.empty(e.Name) {
			f.removePod(e.Name)
		}
	}
}

func next(order v1alpha1.EngineOrder, phase v1alpha1.ShardPhase, successor bool) v1alpha1.ShardPhase {
	switch {
	case order == v1alpha1.OrderCapture && (phase == "" || phase == v1alpha1.Drained):
		return v1alpha1.Joining
	case order == v1alpha1.OrderCapture:
		return v1alpha1.Capturing
	case phase == "" || phase == v1alpha1.Drained || phase == v1alpha1.Draining && successor:
		return v1alpha1.Drained
	}
	return v1alpha1.Draining
}

// empty reports whether an engine holds no shard. A leaving engine ends when it is empty.
func (f *fleet) empty(engine string) bool {
	for i, phases := range f.phases {
		if p := phases[engine]; p != "" && p != v1alpha1.Drained {
			return false
		}
		if f.named(i, engine) {
			return false
		}
	}
	return true
}

func (f *fleet) named(shard int, engine string) bool {
	return slices.ContainsFunc(f.spec[shard], func(e v1alpha1.ShardEngine) bool { return e.Name == engine })
}

// check asserts the conditions that must be true after every decision.
func (f *fleet) check(t *testing.T) {
	t.Helper()
	usable := slices.ContainsFunc(slices.Collect(maps.Values(f.engines)), func(e *placement.Engine) bool {
		return !e.Leaving && !e.Dead
	})
	for i, engines := range f.spec {
		captures, names := 0, map[string]bool{}
		for _, e := range engines {
			names[e.Name] = true
			if known := f.engines[e.Name]; e.Order == v1alpha1.OrderCapture && known != nil && !known.Dead {
				captures++
			}
		}
		if len(names) != len(engines) || len(engines) > 4 || captures > 2 || (usable && captures == 0) {
			t.Fatalf("the engines of shard %d are %s", i, orders(engines))
		}
	}
}

// converge calls plan and answer until orders no longer change.
func (f *fleet) converge(t *testing.T) {
	t.Helper()
	quiet := 0
	for range 2000 {
		if f.plan(t) {
			quiet = 0
		} else if quiet++; quiet == 20 { // no answer is outstanding
			return
		}
		f.check(t)
		f.answer()
	}
	t.Fatal("the placement does not converge")
}

// loads returns the highest, lowest and mean load of the engines after converge.
func (f *fleet) loads(t *testing.T) (most, least, mean float64) {
	t.Helper()
	loads := map[string]float64{}
	for name := range f.engines {
		loads[name] = 0
	}
	for i, engines := range f.spec {
		if len(engines) != 1 || f.engines[engines[0].Name] == nil {
			t.Fatalf("after convergence, the engines of shard %d are %s", i, orders(engines))
		}
		loads[engines[0].Name] += f.weights[i]
		mean += f.weights[i] / float64(len(f.engines))
	}
	values := slices.Collect(maps.Values(loads))
	return slices.Max(values), slices.Min(values), mean
}

func equal(*rand.Rand) float64     { return 1000 }
func uniform(r *rand.Rand) float64 { return 500 + r.Float64()*1000 }

// skewed returns weights of up to about 20 times the mean, which occur with shardBy group.
func skewed(r *rand.Rand) float64 { return 100 / (0.01 + r.Float64()) }

var kinds = []struct {
	name            string
	shards, engines int
	weight          func(*rand.Rand) float64
}{
	{"64 shards on 3 engines", 64, 3, equal},
	{"64 shards on 20 engines", 64, 20, equal},
	{"1024 shards on 10 engines", 1024, 10, uniform},
	{"1024 skewed shards on 10 engines", 1024, 10, skewed},
}

// checkEven asserts that no load of an engine differs from the mean by more than the tolerated
// imbalance. With few shards the load may differ by the weight of one shard.
func (f *fleet) checkEven(t *testing.T) {
	t.Helper()
	most, least, mean := f.loads(t)
	slack := (placement.Imbalance + 0.01) * mean // a shard without load has a weight too
	if len(f.weights) < 20*len(f.engines) {
		slack = max(slack, slices.Max(f.weights)) // only whole shards can move
	}
	if most > mean+slack || least < mean-slack {
		t.Errorf("loads are from %.0f to %.0f, but the mean is %.0f", least, most, mean)
	}
}

func TestEven(t *testing.T) { convergeAndCheck(t, 0, 1) }

func TestLong_Even(t *testing.T) { convergeAndCheck(t, 1, 5) }

// convergeAndCheck places all shards on new engines, with each seed from first to last-1.
func convergeAndCheck(t *testing.T, first, last uint64) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			for seed := first; seed < last; seed++ {
				f := newFleet(seed, kind.shards, kind.engines, kind.weight)
				f.converge(t)
				f.checkEven(t)
			}
		})
	}
}

// A new engine gets its share of the shards, and a lost engine gives up its shards. Few other
// shards move.
func TestFewMoves(t *testing.T) { changeEngines(t, 0, 1) }

func TestLong_FewMoves(t *testing.T) { changeEngines(t, 1, 5) }

// changeEngines adds, drains and kills an engine, with each seed from first to last-1.
func changeEngines(t *testing.T, first, last uint64) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			for seed := first; seed < last; seed++ {
				f := newFleet(seed, kind.shards, kind.engines, kind.weight)
				f.converge(t)
				for _, change := range []struct {
					name string
					do   func()
				}{
					{"an engine joins", f.add},
					{"an engine leaves", func() { f.engines["main-engine-1"].Leaving = true }},
					{"an engine dies", func() { f.removePod("main-engine-2") }},
				} {
					f.moves = nil
					change.do()
					f.converge(t)
					f.checkEven(t)
					share := len(f.weights)/len(f.engines) + 1
					if limit := share + share/4 + 2; len(f.moves) > limit {
						t.Errorf("%s: %d moves, but the fair share is %d", change.name, len(f.moves), share)
					}
				}
			}
		})
	}
}

// After any event, at least one engine has the order to capture each shard, and each shard
// makes one move at a time. When no more events occur, the placement converges.
func TestPlacementConvergesAfterRandomEvents(t *testing.T) { makeEvents(t, 0, 8) }

func TestLong_PlacementConvergesAfterRandomEvents(t *testing.T) { makeEvents(t, 8, 30) }

// makeEvents makes random events happen, with each seed from first to last-1.
func makeEvents(t *testing.T, first, last uint64) {
	for seed := first; seed < last; seed++ {
		f := newFleet(seed, 64, 4, uniform)
		for range 300 {
			f.randomEvent()
			f.plan(t)
			f.check(t)
			f.answer()
		}
		for name, e := range f.engines {
			if e.Dead {
				f.removePod(name)
			}
		}
		f.add()
		f.converge(t)
		f.checkEven(t)
	}
}

func (f *fleet) randomEvent() {
	e := f.pick()
	switch n := f.rng.IntN(40); {
	case n == 0 || n == 1:
		f.add()
	case e == nil:
	case n == 2:
		e.Leaving = true
	case n == 3:
		e.Dead = true
	case n == 4:
		f.removePod(e.Name)
	case n == 5: // all engines renew their Leases again
		for _, name := range slices.Sorted(maps.Keys(f.engines)) {
			f.engines[name].Dead = false
		}
	}
}

// A load that varies by a few percent causes almost no moves.
func TestHysteresis(t *testing.T) {
	f := newFleet(1, 1024, 10, uniform)
	f.converge(t)
	f.moves = nil
	for range 200 {
		for i := range f.weights {
			f.weights[i] *= 0.98 + f.rng.Float64()*0.04
		}
		f.plan(t)
		f.answer()
	}
	if len(f.moves) > 20 {
		t.Errorf("%d moves, want at most 20", len(f.moves))
	}
}
