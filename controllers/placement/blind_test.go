package placement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
)

// network is a story in which engines answer as their network lets them. Each shard has some
// channels on one host.
type network struct {
	*story
	channels int
	host     func(shard int) string
	// cut are the pairs of engine and host without a connection. off are the hosts that are off.
	cut map[[2]string]bool
	off map[string]bool
	// known has the time since which the connection of an engine for a shard is as it is.
	known map[[2]any]connection
	step  time.Duration // between two decisions
	moves int
}

type connection struct {
	up    bool
	since time.Time
}

func newNetwork(engines string, shards int, owner func(shard int) string) *network {
	var texts []string
	for i := range shards {
		texts = append(texts, owner(i)+":C:Capturing")
	}
	n := &network{
		story: newStory(engines, texts...), channels: 10, host: func(shard int) string { return fmt.Sprint("ioc", shard) },
		cut: map[[2]string]bool{}, off: map[string]bool{}, known: map[[2]any]connection{}, step: 5 * time.Second,
	}
	n.in.Limits.Blind, n.in.Limits.Leave = 30*time.Second, 20*time.Second
	return n
}

// on returns an owner of all shards.
func on(engine string) func(int) string { return func(int) string { return engine } }

// blind cuts an engine off from all hosts.
func (n *network) blind(engine string) {
	for i := range n.in.Shards {
		n.cut[[2]string{engine, n.host(i)}] = true
	}
}

// run makes a decision in each step. Between them, engines carry out their orders and report.
func (n *network) run(d time.Duration) {
	for range d / n.step {
		n.report()
		n.moves += len(n.pass(n.step).Moves)
		n.carryOut()
	}
}

// report fills the sights of engines.
func (n *network) report() {
	for i := range n.in.Shards {
		for j := range n.in.Shards[i].Engines {
			slot := &n.in.Shards[i].Engines[j]
			key, host := [2]any{i, slot.Name}, n.host(i)
			up := slot.Phase != "" && slot.Phase != v1alpha1.Drained && !n.off[host] && !n.cut[[2]string{slot.Name, host}]
			c, seen := n.known[key]
			if !seen || c.up != up {
				c = connection{up, n.in.Now}
				n.known[key] = c
			}
			slot.Sight = placement.Sight{Known: true, Channels: n.channels}
			steady := n.in.Now.Sub(c.since) >= 30*time.Second
			switch {
			case up:
				slot.Sight.Connected = n.channels
				slot.Sight.Hosts = []placement.Host{{Name: host, Channels: n.channels}}
				if steady {
					slot.Sight.Steady = n.channels
				}
			case steady:
				slot.Sight.Unreachable = n.channels
			}
		}
	}
}

// carryOut updates the phases of engines.
func (n *network) carryOut() {
	for i := range n.in.Shards {
		s := &n.in.Shards[i]
		successor := slices.ContainsFunc(s.Engines, func(e placement.Slot) bool {
			return e.Order == v1alpha1.OrderCapture && e.Phase == v1alpha1.Capturing
		})
		for j := range s.Engines {
			e := &s.Engines[j]
			e.Phase = next(e.Order, e.Phase, successor)
			if e.Phase == v1alpha1.Drained {
				delete(n.known, [2]any{i, e.Name})
			}
		}
	}
}

// owners returns the engines that have orders for each shard, with blanks between shards.
func (n *network) owners() string {
	var out []string
	for _, s := range n.in.Shards {
		var names []string
		for _, e := range s.Engines {
			names = append(names, e.Name)
		}
		out = append(out, strings.Join(names, "+"))
	}
	return strings.Join(out, " ")
}

// blindness returns the blind engines with their hosts.
func (n *network) blindness() string {
	var out []string
	for _, b := range n.memory.Blind() {
		out = append(out, b.Engine+":"+strings.Join(b.Hosts, ","))
	}
	return strings.Join(out, " ")
}

func (n *network) expect(t *testing.T, what, owners, blind string) {
	t.Helper()
	if got := n.owners(); got != owners {
		t.Errorf("%s, after %v: the engines are %q, want %q", what, n.in.Now.Sub(start), got, owners)
	}
	if got := n.blindness(); got != blind {
		t.Errorf("%s, after %v: blind is %q, want %q", what, n.in.Now.Sub(start), got, blind)
	}
}

// TestABlindTargetGetsNothing follows a new engine that reaches no IOC. No source drains, the
// engine is blind, and gets one shard on trial every ten minutes. Once it sees, it gets its share.
func TestABlindTargetGetsNothing(t *testing.T) {
	n := newNetwork("a b", 4, on("a"))
	n.blind("b")
	n.run(time.Minute)
	if !strings.Contains(n.owners(), "a+b") {
		t.Fatalf("no shard moves to the new engine: %s", n.owners())
	}
	for range 24 {
		n.run(5 * time.Second)
		for i, s := range n.in.Shards {
			if s.Engines[0].Name != "a" || s.Engines[0].Order != v1alpha1.OrderCapture {
				t.Fatalf("shard %d has left the engine that sees it: %s", i, n.owners())
			}
		}
	}
	n.expect(t, "after the limit", "a a a a", "b:ioc2,ioc3")
	n.moves = 0
	n.run(9 * time.Minute)
	n.expect(t, "later", "a a a a", "b:ioc2,ioc3")
	if n.moves > 0 {
		t.Errorf("%d moves to a blind engine", n.moves)
	}
	n.run(3 * time.Minute)
	n.expect(t, "after the trial", "a a a a", "b:ioc2,ioc3")
	if n.moves != 1 {
		t.Errorf("%d moves on trial, want 1", n.moves)
	}
	n.cut = nil
	n.run(20 * time.Minute)
	if n.blindness() != "" || strings.Count(n.owners(), "b") != 2 {
		t.Errorf("an engine that sees again: blind is %q, the engines are %s", n.blindness(), n.owners())
	}
}

// A source drains if its target sees at least nine tenths of the channels. One channel may lack.
func TestEnoughChannels(t *testing.T) {
	for _, tc := range []struct {
		source, target int
		drains         bool
	}{
		{100, 100, true}, {100, 90, true}, {100, 89, false}, {100, 0, false}, {100, 200, true},
		{10, 9, true}, {10, 8, false}, {3, 2, true}, {3, 1, false}, {1, 1, true}, {1, 0, false}, {0, 0, true},
	} {
		s := newStory("a b", "a:C:Capturing b:C:Capturing")
		for i, connected := range []int{tc.source, tc.target} {
			s.in.Shards[0].Engines[i].Sight = placement.Sight{Known: true, Channels: 200, Connected: connected}
		}
		want := "a:C b:C"
		if tc.drains {
			want = "b:C a:D"
		}
		s.want(t, 0, s.pass(0), want)
	}
}

// If an engine does not report, its target is compared with what the shard last reached. A target
// of an earlier version does not say what it sees, and is trusted.
func TestEnoughChannelsWithoutAReport(t *testing.T) {
	s := newStory("a b", "a:C:Capturing b:C:Capturing")
	source, target := &s.in.Shards[0].Engines[0].Sight, &s.in.Shards[0].Engines[1].Sight
	*source = placement.Sight{Known: true, Channels: 10, Connected: 10, Steady: 10}
	*target = placement.Sight{Known: true, Channels: 10}
	s.want(t, 0, s.pass(0), "a:C b:C")
	s.in.Shards[0].Engines[1].Sight = placement.Sight{Known: true, Channels: 10}
	s.want(t, 0, s.pass(0), "a:C b:C") // pass drops the sights
	s.want(t, 0, s.pass(0), "b:C a:D")
}

// A leaving engine gives up a target that sees too little early, tries the others, and then hands
// its shards to the last one.
func TestALeavingEngineTriesTargetsThatSee(t *testing.T) {
	n := newNetwork("a- b c", 1, on("a"))
	n.blind("b")
	n.blind("c")
	n.run(10 * time.Second)
	first := n.in.Shards[0].Engines[1].Name
	other := map[string]string{"b": "c", "c": "b"}[first]
	n.run(30 * time.Second)
	if n.owners() != "a+"+other {
		t.Errorf("after 40 s the engines are %s, want a+%s", n.owners(), other)
	}
	n.run(35 * time.Second)
	n.expect(t, "both targets are blind", other, "")

	n = newNetwork("a- b c", 1, on("a"))
	n.blind(first)
	n.run(time.Minute)
	n.expect(t, "the first target is blind", other, "")
}

// After a crash, a blind engine gets the shards. Others are connected to the same hosts, so the
// engine is blind, and the shards move to an engine that sees them.
func TestABlindEngineTakesOver(t *testing.T) {
	n := newNetwork("a b c", 6, func(i int) string { return "abc"[i%3 : i%3+1] })
	n.host = func(int) string { return "ioc" } // shared by all shards
	n.run(5 * time.Minute)
	n.expect(t, "before", "a b c a b c", "")
	n.blind("b")
	n.in.Engines = fleetOf("b c")
	n.run(10 * time.Minute)
	n.expect(t, "after the crash of a and the cut of b", "c c c c c c", "b:ioc")
	n.cut = nil
	n.run(20 * time.Minute)
	if n.blindness() != "" || strings.Count(n.owners(), "b") != 3 {
		t.Errorf("after b sees again, %q is blind, and the engines are %s", n.blindness(), n.owners())
	}
}

// After a crash, a blind engine gets shards whose hosts no other engine is connected to. Two of
// the shards look for an engine that sees more. This shows that the engine is blind.
func TestABlindEngineTakesOverOwnHosts(t *testing.T) {
	n := newNetwork("a b c", 6, func(i int) string { return "ac"[i%2 : i%2+1] })
	n.in.Engines = fleetOf("a b? c")
	n.run(5 * time.Minute)
	n.expect(t, "before", "a c a c a c", "")
	n.blind("b")
	n.in.Engines = fleetOf("b c?")
	n.run(10 * time.Second) // b gets the shards of a
	n.in.Engines = fleetOf("b c")
	n.run(20 * time.Minute)
	if n.owners() != "c c c c c c" || !strings.HasPrefix(n.blindness(), "b:ioc") {
		t.Errorf("after the crash, blind is %q, and the engines are %s", n.blindness(), n.owners())
	}
}

// If the IOCs are off, no engine is blind, and only a bounded number of shards move.
func TestAnOutageOfIOCsMovesLittle(t *testing.T) {
	for _, tc := range []struct {
		shards int
		shared bool // all shards have the same host
	}{{30, false}, {30, true}, {3, false}} {
		n := newNetwork("a b c", tc.shards, func(i int) string { return "abc"[i%3 : i%3+1] })
		if tc.shared {
			n.host = func(int) string { return "ioc" }
		}
		n.run(5 * time.Minute)
		before := n.owners()
		n.moves = 0
		for i := range tc.shards {
			n.off[n.host(i)] = true
		}
		n.step = 15 * time.Second
		n.run(6 * time.Hour)
		n.run(10 * time.Minute)
		if blind := n.blindness(); blind != "" {
			t.Errorf("%+v: %q is blind although the IOCs are off", tc, blind)
		}
		// Each of the 3 engines begins 2 moves after 0, 10, 30, 70, 150 and 310 minutes, or later.
		if n.moves == 0 || n.moves > 3*2*6 {
			t.Errorf("%+v: %d moves in 6 h, want a few", tc, n.moves)
		}
		if n.owners() != before {
			t.Errorf("%+v: shards have moved from\n%s to\n%s", tc, before, n.owners())
		}
		n.off, n.moves = nil, 0
		n.run(10 * time.Minute)
		if n.blindness() != "" || n.owners() != before || n.moves > 0 {
			t.Errorf("%+v: after the outage, blind is %q, with %d moves", tc, n.blindness(), n.moves)
		}
	}
}

// While IOCs are off, a crash moves each shard of the dead engine once.
func TestACrashDuringAnOutageOfIOCs(t *testing.T) {
	n := newNetwork("a b c", 12, func(i int) string { return "abc"[i%3 : i%3+1] })
	n.run(5 * time.Minute)
	for i := range 12 {
		n.off[n.host(i)] = true
	}
	n.run(2 * time.Minute)
	n.in.Engines, n.moves, n.step = fleetOf("b c"), 0, 15*time.Second
	n.run(5 * time.Hour)
	if blind := n.blindness(); blind != "" || n.moves > 4+2*2*7 {
		t.Errorf("%q is blind, %d moves", blind, n.moves)
	}
}

// If one engine of a pair cannot reach the hosts, it is blind, and another engine replaces it.
func TestOneOfTwoEnginesIsBlind(t *testing.T) {
	n := newNetwork("a@1 b@2 c@3", 4, on("a"))
	for i := range n.in.Shards {
		n.in.Shards[i].Replicas, n.in.Shards[i].Engines = 2, slots("a:C:Capturing b:C:Capturing")
	}
	n.in.Rebalance = false
	n.run(5 * time.Minute)
	n.expect(t, "before", "a+b a+b a+b a+b", "")
	n.blind("b")
	n.run(20 * time.Second)
	n.expect(t, "a short cut", "a+b a+b a+b a+b", "")
	n.run(10 * time.Minute)
	n.expect(t, "a long cut", "a+c a+c a+c a+c", "b:ioc0,ioc1,ioc2,ioc3")
}

// An engine that does not reach some hosts keeps the shards that it sees.
func TestABlindEngineKeepsShardsThatItSees(t *testing.T) {
	n := newNetwork("a b", 8, func(i int) string { return "ab"[i%2 : i%2+1] })
	n.host = func(shard int) string { return fmt.Sprint("ioc", shard/2%2) } // both engines have both hosts
	n.run(5 * time.Minute)
	n.cut[[2]string{"b", "ioc0"}] = true
	n.run(15 * time.Minute)
	n.expect(t, "b is cut off from a host", "a a a b a a a b", "b:ioc0")
}

// A new engine that gets new shards, and reaches no channel of them, hands them to engines that
// reach other channels.
func TestABlindEngineGetsNewShards(t *testing.T) {
	n := newNetwork("a b", 8, func(i int) string { return "ab"[i%2 : i%2+1] })
	n.blind("b")
	n.run(30 * time.Minute)
	if n.owners() != "a a a a a a a a" || !strings.HasPrefix(n.blindness(), "b:ioc") {
		t.Errorf("b was blind from the start: blind is %q, and the engines are %s", n.blindness(), n.owners())
	}
}

// The single channel of a shard is no evidence against an engine.
func TestASingleChannelIsNoEvidence(t *testing.T) {
	n := newNetwork("a@1 b@2 c@3", 1, on("a"))
	n.channels = 1
	n.in.Shards[0].Replicas, n.in.Shards[0].Engines = 2, slots("a:C:Capturing b:C:Capturing")
	n.run(time.Minute)
	n.blind("b")
	n.run(10 * time.Minute)
	n.expect(t, "a single channel", "a+b", "")
}

// If all engines are blind, dead engines are still replaced.
func TestAllEnginesAreBlind(t *testing.T) {
	n := newNetwork("a b", 4, func(i int) string { return "ab"[i%2 : i%2+1] })
	n.host = func(shard int) string { return fmt.Sprint("ioc", shard/2) }
	n.run(5 * time.Minute)
	n.cut[[2]string{"a", "ioc0"}], n.cut[[2]string{"b", "ioc1"}] = true, true
	n.run(10 * time.Minute)
	n.expect(t, "each engine is cut off from one host", "b b a a", "a:ioc0 b:ioc1")
	n.in.Engines = fleetOf("b")
	n.run(5 * time.Minute)
	n.expect(t, "one engine is left", "b b b b", "b:ioc1")
}
