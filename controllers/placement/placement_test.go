package placement_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
)

// slots parses engines with their order and phase, as in "a:C:Capturing b:D".
func slots(text string) (out []placement.Slot) {
	for _, field := range strings.Fields(text) {
		part := strings.Split(field, ":")
		slot := placement.Slot{Name: part[0], Order: v1alpha1.OrderCapture}
		if part[1] == "D" {
			slot.Order = v1alpha1.OrderDrain
		}
		if len(part) > 2 {
			slot.Phase = v1alpha1.ShardPhase(part[2])
		}
		out = append(out, slot)
	}
	return out
}

// orders formats engines and orders in the syntax of slots.
func orders(engines []v1alpha1.ShardEngine) string {
	var out []string
	for _, e := range engines {
		out = append(out, e.Name+":"+string(e.Order[0]))
	}
	return strings.Join(out, " ")
}

// engines parses engines, as in "a b? c- d!": a is usable, b is not usable yet, c is
// leaving, and d is dead.
func engines(text string) (out []placement.Engine) {
	for _, name := range strings.Fields(text) {
		e := placement.Engine{Name: strings.TrimRight(name, "?-!"), Usable: true}
		switch name[len(name)-1] {
		case '?':
			e.Usable = false
		case '-':
			e.Leaving = true
		case '!':
			e.Dead = true
		}
		out = append(out, e)
	}
	return out
}

// TestOneShard tests the decision for one shard in each state.
func TestOneShard(t *testing.T) {
	holds := func(orphaned bool, names ...string) map[int][]placement.Holder {
		var out []placement.Holder
		for _, name := range names {
			out = append(out, placement.Holder{Name: name, Orphaned: orphaned})
		}
		return map[int][]placement.Holder{0: out}
	}
	for _, tc := range []struct {
		name    string
		engines string
		shard   string
		holding map[int][]placement.Holder
		want    string
		reason  placement.Reason
	}{
		{"a new shard goes to an engine at once", "a", "", nil, "a:C", placement.Unassigned},
		{"a new shard goes to a usable engine only", "a? b c- d!", "", nil, "b:C", placement.Unassigned},
		{"no usable engine, so the shard waits", "a?", "", nil, "", ""},
		{"an engine keeps its shard", "a b", "a:C:Capturing", nil, "a:C", ""},
		{"an engine that is briefly not ready keeps its shard", "a? b", "a:C:Capturing", nil, "a:C", ""},

		{"a lost shard goes to the engine that holds it", "a b c", "", holds(true, "c"), "c:C", placement.Adopted},
		{"if two engines hold a lost shard, one drains", "a b c", "", holds(true, "c", "a"), "c:C a:D", placement.Adopted},
		{"the holder of a lost shard is leaving, so another joins first", "a b-", "", holds(true, "b"), "a:C b:D", placement.Unassigned},
		{"an orphan drains", "a b", "a:C:Capturing", holds(true, "b"), "a:C b:D", ""},
		{"an orphan that has the order to drain", "a b", "a:C:Capturing b:D", holds(true, "b"), "a:C b:D", ""},
		{"a drained engine stays until its report agrees", "a b", "a:C:Capturing b:D:Drained", holds(true, "b"), "a:C b:D", ""},
		{"an orphan without a pod", "a", "a:C:Capturing", holds(true, "b"), "a:C", ""},
		{"a report of a named engine", "a b", "a:C:Capturing b:D:Drained", holds(false, "b"), "a:C", ""},

		{"the engine is dead without a pod", "b", "a:C:Capturing", nil, "b:C", placement.Dead},
		{"the engine is dead, and its pod exists", "a! b", "a:C:Capturing", nil, "b:C a:D", placement.Dead},
		{"the engine is dead without a replacement", "a!", "a:C:Capturing", nil, "a:C", ""},
		{"the engine is gone without a replacement", "", "a:C:Capturing", nil, "a:C", ""},
		{"a dead engine drains while its pod exists", "a! b", "b:C:Capturing a:D:Draining", nil, "b:C a:D", ""},
		{"a dead engine is dropped without its pod", "b", "b:C:Joining a:D", nil, "b:C", ""},
		{"a dead engine that comes back drains", "a b", "b:C:Joining a:D:Capturing", nil, "b:C a:D", ""},

		{"the engine leaves, and another joins first", "a- b", "a:C:Capturing", nil, "a:C b:C", placement.Leaving},
		{"the engine leaves without a replacement", "a-", "a:C:Capturing", nil, "a:C", ""},
		{"the target is joining", "a- b", "a:C:Capturing b:C:Joining", nil, "a:C b:C", ""},
		{"the target captures, and the source drains", "a- b", "a:C:Capturing b:C:Capturing", nil, "b:C a:D", ""},
		{"the source is draining", "a- b", "b:C:Capturing a:D:Draining", nil, "b:C a:D", ""},
		{"the source has drained", "a- b", "b:C:Capturing a:D:Drained", nil, "b:C", ""},

		{"the target dies", "a b! c", "a:C:Capturing b:C:Joining", nil, "a:C b:D", ""},
		{"the pod of the target is gone", "a c", "a:C:Capturing b:C:Joining", nil, "a:C", ""},
		{"the target dies while the source leaves", "a- b! c", "a:C:Capturing b:C:Joining", nil, "a:C c:C b:D", placement.Leaving},
		{"the target dies while the source drains", "a b! c", "b:C:Capturing a:D:Draining", nil, "a:C b:D", ""},
		{"the target dies after the source has drained", "a b! c", "b:C:Capturing a:D:Drained", nil, "a:C b:D", placement.Dead},
		{"the target leaves", "a b- c", "a:C:Capturing b:C:Joining", nil, "a:C b:D", ""},
		{"both leave", "a- b- c", "a:C:Capturing b:C:Joining", nil, "a:C b:D", ""},
		{"both leave, and the target captures", "a- b- c", "a:C:Capturing b:C:Capturing", nil, "b:C a:D", ""},
		{"the source dies", "a! b", "a:C:Capturing b:C:Joining", nil, "b:C a:D", ""},
		{"the pod of the source is gone", "b", "a:C:Capturing b:C:Joining", nil, "b:C", ""},
		{"the engine leaves while another drains, so it waits", "a- b c", "a:C:Capturing b:D:Draining", nil, "a:C b:D", ""},
		{"the engine leaves while a dead one is named", "a- b! c", "a:C:Capturing b:D", nil, "a:C c:C b:D", placement.Leaving},

		{"too many orders", "a b c", "a:C:Capturing b:C:Capturing c:C", nil, "b:C c:D a:D", ""},
		{"too many dead engines", "a b! c! d! e!", "a:C:Capturing b:D c:D d:D e:D", nil, "a:C b:D c:D", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := placement.Input{
				Shards:  []placement.Shard{{Weight: 10, Engines: slots(tc.shard)}},
				Engines: engines(tc.engines), Holding: tc.holding, Rebalance: true, Limits: placement.Limits{AtOnce: 8},
			}
			got := placement.Plan(in)
			want := tc.want
			if tc.reason == placement.Unassigned || tc.reason == placement.Dead { // any usable engine is right
				want = strings.ReplaceAll(want, want[:1], got.Engines[0][0].Name)
			}
			if s := orders(got.Engines[0]); s != tc.want && s != want {
				t.Errorf("got %q, want %q", s, tc.want)
			}
			var reason placement.Reason
			for _, m := range got.Moves {
				reason = m.Reason
			}
			if reason != tc.reason {
				t.Errorf("a move for reason %q, want %q", reason, tc.reason)
			}
			again := in
			again.Shards = []placement.Shard{{Weight: 10, Engines: phasesKept(slots(tc.shard), got.Engines[0])}}
			if second := placement.Plan(again); !cmp.Equal(second.Engines, got.Engines) {
				t.Errorf("a second decision changes the engines to %q", orders(second.Engines[0]))
			}
		})
	}
}

// phasesKept returns the engines after a decision. Each engine keeps its phase from before
// the decision.
func phasesKept(before []placement.Slot, after []v1alpha1.ShardEngine) (out []placement.Slot) {
	for _, e := range after {
		slot := placement.Slot{Name: e.Name, Order: e.Order}
		for _, b := range before {
			if b.Name == e.Name {
				slot.Phase = b.Phase
			}
		}
		out = append(out, slot)
	}
	return out
}

// TestCounts tests the counts that the operator writes into the status.
func TestCounts(t *testing.T) {
	got := placement.Plan(placement.Input{
		Engines: engines("a! b?"),
		Shards: []placement.Shard{
			{Index: 0, Weight: 1, Engines: slots("a:C:Capturing")},
			{Index: 1, Weight: 1, Engines: slots("b:C:Capturing")},
			{Index: 2, Weight: 1},
			{Index: 3},
		},
	})
	if got.Unplaced != 2 || got.Moving != 0 {
		t.Errorf("%d unplaced, %d moving", got.Unplaced, got.Moving)
	}
	got = placement.Plan(placement.Input{
		Engines: engines("a b"),
		Shards: []placement.Shard{
			{Index: 0, Engines: slots("a:C:Capturing b:C:Joining")},
			{Index: 1, Engines: slots("a:C:Capturing b:D:Draining")},
			{Index: 2, Engines: slots("b:C:Capturing")},
		},
	})
	if got.Unplaced != 0 || got.Moving != 2 {
		t.Errorf("%d unplaced, %d moving", got.Unplaced, got.Moving)
	}
}

// The order in which engines are listed does not matter.
func TestSameInputSameOutput(t *testing.T) {
	in := placement.Input{Engines: engines("a b c d e")}
	for i := range 64 {
		in.Shards = append(in.Shards, placement.Shard{Index: i, Weight: float64(i % 7)})
	}
	want := placement.Plan(in)
	in.Engines = engines("e c a d b")
	if diff := cmp.Diff(want, placement.Plan(in)); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkPlan(b *testing.B) {
	const shards, count = 4096, 100
	in := placement.Input{Rebalance: true, Limits: placement.Limits{AtOnce: 8}}
	for i := range count {
		in.Engines = append(in.Engines, placement.Engine{Name: fmt.Sprint("engine-", i), Usable: true})
	}
	for i := range shards {
		in.Shards = append(in.Shards, placement.Shard{Index: i, Weight: float64(i%13 + 1)})
	}
	b.Run("seed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			placement.Plan(in)
		}
	})
	first := placement.Plan(in)
	for i := range in.Shards {
		in.Shards[i].Engines = []placement.Slot{{
			Name: first.Engines[i][0].Name, Order: v1alpha1.OrderCapture, Phase: v1alpha1.Capturing,
		}}
	}
	b.Run("steady", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			placement.Plan(in)
		}
	})
}
