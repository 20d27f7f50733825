package placement_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
)

var (
	start  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	limits = placement.Limits{
		AtOnce: 8, PerMinute: 10, Rest: 5 * time.Minute, Join: 2 * time.Minute, Avoid: 10 * time.Minute,
	}
)

// story is one archive over time. The status of engines changes only when a test calls
// answer.
type story struct {
	memory placement.Memory
	in     placement.Input
}

func newStory(engines string, shards ...string) *story {
	s := &story{in: placement.Input{Engines: fleetOf(engines), Rebalance: true, Now: start, Limits: limits}}
	for i, text := range shards {
		s.in.Shards = append(s.in.Shards, placement.Shard{Index: i, Weight: 10, Engines: slots(text)})
	}
	return s
}

// fleetOf parses engines like the function engines. A node and a zone may follow a name, as in
// a@node/zone.
func fleetOf(text string) []placement.Engine {
	out := engines(text)
	for i := range out {
		name := []byte(out[i].Name)
		if at := slices.Index(name, '@'); at >= 0 {
			place := string(name[at+1:])
			out[i].Name = string(name[:at])
			out[i].Node = place
			if slash := slices.Index([]byte(place), '/'); slash >= 0 {
				out[i].Node, out[i].Zone = place[:slash], place[slash+1:]
			}
		}
	}
	return out
}

// pass advances the time by d and makes a decision.
func (s *story) pass(d time.Duration) placement.Result {
	s.in.Now = s.in.Now.Add(d)
	s.memory.Recall(&s.in)
	r := placement.Plan(s.in)
	s.memory.Record(&s.in, r)
	for i, engines := range r.Engines {
		s.in.Shards[i].Engines = phasesKept(s.in.Shards[i].Engines, engines)
	}
	return r
}

func (s *story) answer(shard int, engine string, phase v1alpha1.ShardPhase) {
	for i := range s.in.Shards[shard].Engines {
		if e := &s.in.Shards[shard].Engines[i]; e.Name == engine {
			e.Phase = phase
		}
	}
}

func (s *story) want(t *testing.T, shard int, r placement.Result, want string) {
	t.Helper()
	if got := orders(r.Engines[shard]); got != want {
		t.Fatalf("shard %d after %v: %q, want %q", shard, s.in.Now.Sub(start), got, want)
	}
}

// A target that does not start to capture in time is ordered to drain, and the source
// continues to capture. For some minutes no move of the shard selects that target again.
func TestMoveUndone(t *testing.T) {
	s := newStory("a b", "a:C:Capturing", "a:C:Capturing")
	s.in.Shards[0].Weight = 11 // shard 0 moves first
	s.want(t, 0, s.pass(0), "a:C b:C")
	s.answer(0, "b", v1alpha1.Joining)
	s.pass(0)
	s.want(t, 0, s.pass(119*time.Second), "a:C b:C")
	r := s.pass(time.Second)
	s.want(t, 0, r, "a:C b:D")
	if want := []placement.Undone{{Shard: 0, From: "a", To: "b"}}; !slices.Equal(r.Undone, want) {
		t.Errorf("undone %v, want %v", r.Undone, want)
	}
	s.answer(0, "b", v1alpha1.Drained)
	r = s.pass(10 * time.Second)
	s.want(t, 0, r, "a:C")
	s.want(t, 1, r, "a:C b:C") // shard 1 may still move to b
	s.answer(1, "b", v1alpha1.Capturing)
	s.pass(time.Second)
	s.answer(1, "a", v1alpha1.Drained)
	for range 9 {
		s.want(t, 0, s.pass(time.Minute), "a:C")
	}
}

// If a target does not start to capture, a shard of a leaving engine tries another target.
// The shard keeps the last possible target.
func TestLeavingNeedsATarget(t *testing.T) {
	s := newStory("a- b c", "a:C:Capturing")
	first := s.pass(0).Moves[0].To
	other := map[string]string{"b": "c", "c": "b"}[first]
	s.pass(0)
	s.want(t, 0, s.pass(2*time.Minute), "a:C "+first+":D")
	s.answer(0, first, v1alpha1.Drained)
	s.want(t, 0, s.pass(time.Second), "a:C "+other+":C")
	s.pass(0)
	r := s.pass(5 * time.Minute)
	s.want(t, 0, r, "a:C "+other+":C")
	if len(r.Undone) > 0 {
		t.Errorf("the last possible target was given up")
	}
}

// An engine that does not drain in time does not delay the next move of its shard.
func TestStuckDrain(t *testing.T) {
	s := newStory("a- b c", "a:C:Capturing b:D:Draining")
	s.want(t, 0, s.pass(0), "a:C b:D")
	s.want(t, 0, s.pass(time.Minute), "a:C b:D")
	if r := s.pass(time.Minute); len(r.Moves) != 1 || r.Moves[0].Reason != placement.Leaving {
		t.Errorf("moves after %v are %v", s.in.Now.Sub(start), r.Moves)
	}
}

// While Cassandra is being scaled, only shards of leaving and dead engines move.
func TestHold(t *testing.T) {
	s := newStory("a b", "a:C:Capturing", "a:C:Capturing")
	s.in.Hold = "Cassandra is being scaled"
	if r := s.pass(0); len(r.Moves) > 0 {
		t.Errorf("moves began while Hold is set: %v", r.Moves)
	}
	s.in.Engines = fleetOf("a- b")
	if r := s.pass(0); len(r.Moves) != 2 {
		t.Errorf("moves off a leaving engine are %v, want 2", r.Moves)
	}
	s = newStory("b", "a:C:Capturing", "a:C:Capturing")
	s.in.Hold = "Cassandra is being scaled"
	if r := s.pass(0); len(r.Moves) != 2 {
		t.Errorf("moves off a dead engine are %v, want 2", r.Moves)
	}
}

// The number of moves that begin in a minute is limited.
func TestMovesPerMinute(t *testing.T) {
	var shards []string
	for range 100 {
		shards = append(shards, "a:C:Capturing")
	}
	s := newStory("a b", shards...)
	s.in.Limits.AtOnce = 1000
	for _, step := range []struct{ seconds, moves int }{{0, 10}, {30, 0}, {29, 0}, {1, 10}, {59, 0}} {
		if r := s.pass(time.Duration(step.seconds) * time.Second); len(r.Moves) != step.moves {
			t.Errorf("after %v: %d moves, want %d", s.in.Now.Sub(start), len(r.Moves), step.moves)
		}
	}
}

// A shard that moved does not move again for a while, unless its engine leaves.
func TestShardRestsAfterAMove(t *testing.T) {
	s := newStory("a b", "a:C:Capturing", "a:C:Capturing")
	s.in.Shards[0].Weight = 11
	s.want(t, 0, s.pass(0), "a:C b:C")
	s.answer(0, "b", v1alpha1.Capturing)
	s.pass(time.Second)
	s.answer(0, "a", v1alpha1.Drained)
	s.want(t, 0, s.pass(time.Second), "b:C")

	s.in.Engines = fleetOf("a b c")
	s.in.Shards = append(s.in.Shards, placement.Shard{Index: 2, Weight: 10, Engines: slots("b:C:Joining")})
	s.want(t, 0, s.pass(4*time.Minute), "b:C")
	for i, engines := range []string{"a b- c", "a b c"} {
		again := &story{in: s.in, memory: s.memory}
		again.in.Shards = slices.Clone(s.in.Shards)
		again.in.Engines = fleetOf(engines)
		if r := again.pass(time.Duration(i) * time.Minute); len(r.Engines[0]) != 2 {
			t.Errorf("the shard did not move among engines %s: %s", engines, orders(r.Engines[0]))
		}
	}
}

// If no single move helps, two engines exchange shards, even if every shard of the second engine weighs nearly
// as much as those of the first.
func TestEnginesExchangeShards(t *testing.T) {
	s := newStory("a b", "a:C:Capturing", "a:C:Capturing", "b:C:Capturing")
	for i, weight := range []float64{10, 10, 8} {
		s.in.Shards[i].Weight = weight
	}
	got := s.pass(0)
	s.want(t, 0, got, "a:C b:C")
	s.want(t, 2, got, "b:C a:C")
}

// The two engines of a redundant shard are on different nodes and in different zones. Only
// one of them is replaced at a time, and the other continues to capture.
func TestTwoEngines(t *testing.T) {
	for _, tc := range []struct{ name, engines, shard, want string }{
		{"the second is on another node", "a@1 b@1 c@2", "a:C:Capturing", "a:C c:C"},
		{"the second is in another zone", "a@1/x b@2/x c@3/y", "a:C:Capturing", "a:C c:C"},
		{"on another node if there is no other zone", "a@1/x b@2/x c@1/x", "a:C:Capturing", "a:C b:C"},
		{"there is only one node", "a@1 b@1", "a:C:Capturing", "a:C b:C"},
		{"there is only one engine", "a@1", "a:C:Capturing", "a:C"},
		{"nothing changes", "a@1 b@2", "a:C:Capturing b:C:Capturing", "a:C b:C"},
		{"the second is still joining", "a@1 b@2", "a:C:Capturing b:C:Joining", "a:C b:C"},
		{"the first dies, and the second seals", "a@1! b@2 c@3", "a:C:Capturing b:C:Capturing", "b:C c:C a:D"},
		{"the second is gone", "a@1 c@3", "a:C:Capturing b:C:Capturing", "a:C c:C"},
		{"the second leaves", "a@1 b@2- c@3", "a:C:Capturing b:C:Capturing", "a:C b:C c:C"},
		{"the first leaves, and the second seals", "a@1- b@2 c@3", "a:C:Capturing b:C:Capturing", "b:C a:C c:C"},
		{"the new engine captures", "a@1- b@2 c@3", "b:C:Capturing a:C:Capturing c:C:Capturing", "b:C c:C a:D"},
		{"the first leaves without a replacement", "a@1- b@2", "a:C:Capturing b:C:Capturing", "b:C a:D"},
		{"both are on one node, and another node joins", "a@1 b@1 c@2", "a:C:Capturing b:C:Capturing", "a:C b:C c:C"},
		{"both are in one zone, and another zone joins", "a@1/x b@2/x c@3/y", "a:C:Capturing b:C:Capturing", "a:C b:C c:C"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStory(tc.engines, tc.shard)
			s.in.Shards[0].Replicas = 2
			for i := range 300 { // so that the shard is a small part of the load
				s.in.Shards = append(s.in.Shards, placement.Shard{Index: i + 1, Weight: 10})
			}
			s.want(t, 0, s.pass(0), tc.want)
			s.want(t, 0, s.pass(0), tc.want)
		})
	}
}

// After redundancy is switched off, one of the two engines drains.
func TestTwoToOne(t *testing.T) {
	s := newStory("a b", "a:C:Capturing b:C:Capturing")
	s.want(t, 0, s.pass(0), "b:C a:D")
}

// An engine with four times the cores gets four times the load.
func TestCapacity(t *testing.T) {
	in := placement.Input{Engines: engines("a b c d"), Rebalance: true, Limits: placement.Limits{AtOnce: 8}}
	for i := range in.Engines {
		in.Engines[i].Capacity = []float64{4, 1, 1, 2}[i]
	}
	for i := range 800 {
		in.Shards = append(in.Shards, placement.Shard{Index: i, Weight: 1})
	}
	got := map[string]int{}
	for _, engines := range placement.Plan(in).Engines {
		got[engines[0].Name]++
	}
	for name, want := range map[string]float64{"a": 400, "b": 100, "c": 100, "d": 200} {
		if n := float64(got[name]); math.Abs(n-want) > 0.2*want {
			t.Errorf("engine %s got %v shards, want about %v", name, n, want)
		}
	}
}

func TestSmoother(t *testing.T) {
	s := placement.Smoother{HalfLife: time.Minute}
	channels := []int{100, 100, 50, 0}
	if got, want := s.Weights(channels), []float64{200, 200, 100, 0}; !slices.Equal(got, want) {
		t.Errorf("weights without a measurement are %v, want %v", got, want)
	}
	s.Observe(start, 0, placement.Load{SamplesPerSecond: 1000, Channels: 100})
	if got, want := s.Weights(channels), []float64{1200, 1200, 600, 0}; !slices.Equal(got, want) {
		t.Errorf("weights with one measurement are %v, want %v", got, want)
	}
	s.Observe(start, 1, placement.Load{})
	s.Observe(start.Add(time.Minute), 0, placement.Load{SamplesPerSecond: 3000})
	s.Observe(start.Add(time.Minute), 1, placement.Load{SamplesPerSecond: math.NaN()})
	if got, want := s.Weights(channels), []float64{2200, 200, 600, 0}; !slices.Equal(got, want) {
		t.Errorf("weights one half-life after a change are %v, want %v", got, want)
	}
	s.Observe(start, 0, placement.Load{SamplesPerSecond: 1e9}) // the clock was set back
	if got := s.Weights(channels)[0]; got != 2200 {
		t.Errorf("the weights after the clock was set back are %v", got)
	}
}

// The load of channels that are disconnected stays for a day. The load of channels that send less,
// or are paused, follows the measurement.
func TestLostLoadIsNotIdle(t *testing.T) {
	for _, tc := range []struct {
		name      string
		connected float64
		after     time.Duration
		want      float64
	}{
		{"the channels send less", 100, time.Hour, 200},
		{"a few channels are disconnected", 95, time.Hour, 200},
		{"the channels are disconnected", 0, time.Hour, 1200},
		{"half of the channels are disconnected", 50, 23 * time.Hour, 1200},
		{"the channels are disconnected for more than a day", 0, 25 * time.Hour, 200},
	} {
		s := placement.Smoother{HalfLife: 2 * time.Minute}
		s.Observe(start, 0, placement.Load{SamplesPerSecond: 1000, Channels: 100, Connected: 100})
		for at := time.Duration(0); at <= tc.after; at += 10 * time.Minute {
			s.Observe(start.Add(at), 0, placement.Load{Channels: 100, Connected: tc.connected})
		}
		if got := s.Weights([]int{100})[0]; math.Abs(got-tc.want) > 1 {
			t.Errorf("%s: after %v the weight is %v, want %v", tc.name, tc.after, got, tc.want)
		}
		s.Observe(start.Add(tc.after+time.Hour), 0, placement.Load{SamplesPerSecond: 2000, Channels: 100, Connected: 100})
		if got := s.Weights([]int{100})[0]; math.Abs(got-2200) > 1 {
			t.Errorf("%s: after the channels are back the weight is %v", tc.name, got)
		}
	}
}
