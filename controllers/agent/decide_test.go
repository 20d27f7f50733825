package agent

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

const (
	captures = v1alpha1.OrderCapture
	drains   = v1alpha1.OrderDrain
)

// orders returns a spec, from names and orders in turn.
func orders(list ...any) *v1alpha1.ArchiveShardSpec {
	spec := &v1alpha1.ArchiveShardSpec{}
	for i := 0; i < len(list); i += 2 {
		spec.Engines = append(spec.Engines, v1alpha1.ShardEngine{Name: list[i].(string), Order: list[i+1].(v1alpha1.EngineOrder)})
	}
	return spec
}

// phased returns a status, from names and phases in turn.
func phased(list ...any) *v1alpha1.ArchiveShardStatus {
	st := &v1alpha1.ArchiveShardStatus{}
	for i := 0; i < len(list); i += 2 {
		st.Engines = append(st.Engines, v1alpha1.ShardEngineStatus{Name: list[i].(string), Phase: list[i+1].(v1alpha1.ShardPhase)})
	}
	return st
}

func TestDecide(t *testing.T) {
	holding := decision{hold: true, seal: true}
	released := decision{drain: true, released: true}
	for name, tc := range map[string]struct {
		known
		want decision
	}{
		"a new shard is taken": {
			known{presence: present, spec: orders("a", captures)}, decision{hold: true, seal: true}},
		"a shard that moves here is journalled, not sealed": {
			known{presence: present, spec: orders("b", captures, "a", captures)}, decision{hold: true}},
		"the first one seals when the order changes": {
			known{presence: present, spec: orders("a", captures, "b", drains), before: decision{hold: true}}, holding},
		"a shard of others is left alone": {
			known{presence: present, spec: orders("b", captures)}, decision{}},

		"the object is missing": {
			known{presence: missing, spec: orders("a", captures), before: holding}, decision{hold: true, seal: true, orphaned: true}},
		"the object is missing while another was to take over": {
			known{presence: missing, spec: orders("b", captures, "a", drains), status: phased("b", v1alpha1.Capturing), before: holding},
			decision{hold: true, seal: true, orphaned: true}},
		"the label is missing": {
			known{presence: unlabelled, spec: orders("a", captures), before: holding},
			decision{hold: true, seal: true, orphaned: true, message: sayUnlabelled}},
		"an order is obeyed without the label": {
			known{presence: unlabelled, spec: orders("b", captures, "a", drains), status: phased("b", v1alpha1.Capturing), before: holding}, released},
		"the spec names no engine": {
			known{presence: present, spec: orders(), before: holding}, decision{hold: true, seal: true, orphaned: true, message: sayUnnamed}},
		"the spec names others, which capture": {
			known{presence: present, spec: orders("b", captures), status: phased("b", v1alpha1.Capturing), before: holding},
			decision{hold: true, orphaned: true, message: sayUnnamed}},
		"a missing object gives nothing": {
			known{presence: missing, spec: orders("a", captures)}, decision{}},

		"an order to drain waits for another engine": {
			known{presence: present, spec: orders("b", captures, "a", drains), status: phased("b", v1alpha1.Joining), before: holding},
			decision{hold: true, drain: true, message: sayWaiting}},
		"an order to drain without any other engine": {
			known{presence: present, spec: orders("a", drains), status: phased("a", v1alpha1.Capturing), before: holding},
			decision{hold: true, seal: true, drain: true, message: sayWaiting}},
		"one that is to drain is no successor": {
			known{presence: present, spec: orders("b", drains, "a", drains), status: phased("b", v1alpha1.Capturing), before: holding},
			decision{hold: true, drain: true, message: sayWaiting}},
		"one that the spec does not name is no successor": {
			known{presence: present, spec: orders("a", drains), status: phased("b", v1alpha1.Capturing), before: decision{hold: true}},
			decision{hold: true, seal: true, drain: true, message: sayWaiting}},
		"an order to drain is carried out": {
			known{presence: present, spec: orders("b", captures, "a", drains), status: phased("b", v1alpha1.Capturing), before: holding}, released},
		"what is released stays so when the successor starts again": {
			known{presence: present, spec: orders("b", captures, "a", drains), status: phased("b", v1alpha1.Joining), before: released}, released},
		"what is released stays so when the object is missing": {
			known{presence: missing, spec: orders("b", captures, "a", drains), before: released}, released},
		"another order takes it again": {
			known{presence: present, spec: orders("a", captures), before: released}, holding},

		"after a restart without a state, a drain that was done stays done": {
			known{presence: present, spec: orders("b", captures, "a", drains), status: phased("b", v1alpha1.Joining, "a", v1alpha1.Drained)}, released},
		"after a restart without a state, a drain that was not done goes on": {
			known{presence: present, spec: orders("b", captures, "a", drains), status: phased("b", v1alpha1.Joining, "a", v1alpha1.Draining)},
			decision{hold: true, drain: true, message: sayWaiting}},
		"an old answer does not stop a shard that is held again": {
			known{presence: present, spec: orders("b", captures, "a", drains), status: phased("b", v1alpha1.Joining, "a", v1alpha1.Drained), before: holding},
			decision{hold: true, drain: true, message: sayWaiting}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.engine = "a"
			if got := decide(tc.known); got != tc.want {
				t.Errorf("decided %+v, want %+v", got, tc.want)
			}
		})
	}
}

// Whatever order things are seen in, a shard that is held is given up only
// when an order to drain and another engine that captures are seen together.
func TestNothingButAnOrderEndsCapture(t *testing.T) {
	specs := []*v1alpha1.ArchiveShardSpec{
		orders(), orders("b", captures), orders("a", captures), orders("a", drains), orders("b", captures, "a", drains), orders("b", drains, "a", drains),
	}
	statuses := []*v1alpha1.ArchiveShardStatus{
		nil, phased("b", v1alpha1.Joining), phased("b", v1alpha1.Capturing), phased("a", v1alpha1.Drained, "b", v1alpha1.Draining),
	}
	for _, p := range []presence{missing, unlabelled, present} {
		for i, spec := range specs {
			for j, st := range statuses {
				got := decide(known{engine: "a", presence: p, spec: spec, status: st, before: decision{hold: true, seal: true}})
				if may := p != missing && i == 4 && j == 2; got.hold == may {
					t.Errorf("presence %d, spec %d, status %d: hold is %v", p, i, j, got.hold)
				}
			}
		}
	}
}

func TestPhase(t *testing.T) {
	for name, tc := range map[string]struct {
		d            decision
		joined, open bool
		want         v1alpha1.ShardPhase
	}{
		"taken":                    {decision{hold: true}, false, false, v1alpha1.Joining},
		"connected":                {decision{hold: true}, true, true, v1alpha1.Capturing},
		"an orphan":                {decision{hold: true, orphaned: true}, true, true, v1alpha1.Capturing},
		"told to drain":            {decision{hold: true, drain: true}, true, true, v1alpha1.Draining},
		"flushing":                 {decision{drain: true, released: true}, false, true, v1alpha1.Draining},
		"flushed":                  {decision{drain: true, released: true}, false, false, v1alpha1.Drained},
		"no longer named, closing": {decision{}, false, true, v1alpha1.Draining},
		"over":                     {decision{}, false, false, ""},
	} {
		if got := phase(tc.d, tc.joined, tc.open); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestJoining(t *testing.T) {
	for name, tc := range map[string]struct {
		connected map[float64]int // by time in seconds
		want      float64         // when it is done
	}{
		"no channel at all waits":            {map[float64]int{}, 15},
		"all at once":                        {map[float64]int{0.5: 10}, 0.5},
		"some, and then no more":             {map[float64]int{0.5: 3, 1: 7}, 3},
		"some early, and then no more":       {map[float64]int{0: 7}, 2},
		"a trickle, which is cut at its end": {map[float64]int{1: 1, 2.5: 2, 4: 3, 5.5: 4, 7: 5, 8.5: 6, 10: 7, 11.5: 8, 13: 9}, 15},
		"losing some is no growth":           {map[float64]int{1: 5, 2: 4, 2.5: 5}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Unix(1_700_000_000, 0)
			j := joining{since: begin}
			connected := 0
			for at := 0.0; ; at += 0.5 {
				if n, ok := tc.connected[at]; ok {
					connected = n
				}
				if done := j.done(begin.Add(time.Duration(at*float64(time.Second))), connected, 10); done {
					if at != tc.want {
						t.Errorf("done after %v s, want %v s", at, tc.want)
					}
					return
				}
			}
		})
	}
	if j := (joining{}); !j.done(time.Unix(1, 0), 0, 0) {
		t.Error("a shard without channels is not done at once")
	}
}

func TestAnswerTouchesOnlyItsOwnEntry(t *testing.T) {
	at := metav1.Unix(1000, 0)
	early := metav1.Unix(10, 0)
	mine := v1alpha1.ShardEngineStatus{Name: "a", Phase: v1alpha1.Capturing, Lists: []string{"x"}}
	shard := &v1alpha1.ArchiveShard{Spec: *orders("b", captures, "a", captures), Status: phased("b", v1alpha1.Capturing, "a", v1alpha1.Joining)}
	shard.Status.Sealer = "b"
	ans := answer{entry: mine, since: at}
	if ans.isIn(shard.Status) {
		t.Fatal("an answer that is not there counts as written")
	}
	ans.into(shard)
	got := shard.Status
	if !ans.isIn(got) || got.Sealer != "b" || got.Engines[0].Phase != v1alpha1.Capturing || !got.Engines[1].Since.Equal(&at) {
		t.Errorf("the status became %+v", got)
	}
	// The time of a phase stays when something else changes.
	got.Engines[1].Since = &early
	ans.entry.Message, ans.seals = "m", true
	ans.into(shard)
	if e := got.Engines[1]; !e.Since.Equal(&early) || e.Message != "m" || got.Sealer != "a" {
		t.Errorf("the entry became %+v", e)
	}
	ans = answer{entry: v1alpha1.ShardEngineStatus{Name: "a"}}
	ans.into(shard)
	if len(got.Engines) != 1 || got.Engines[0].Name != "b" || !ans.isIn(got) {
		t.Errorf("after the engine left, there are %+v", got.Engines)
	}
}

func TestAnswerMakesRoom(t *testing.T) {
	shard := &v1alpha1.ArchiveShard{Spec: *orders("e0", captures), Status: &v1alpha1.ArchiveShardStatus{}}
	for i := range maxEntries {
		at := metav1.Unix(int64(1000-i), 0)
		shard.Status.Engines = append(shard.Status.Engines, v1alpha1.ShardEngineStatus{Name: "e" + string(rune('0'+i)), Since: &at})
	}
	ans := answer{entry: v1alpha1.ShardEngineStatus{Name: "a", Phase: v1alpha1.Joining}}
	ans.into(shard)
	if n := len(shard.Status.Engines); n != maxEntries || entryOf(shard.Status, "e7") != nil || entryOf(shard.Status, "e0") == nil {
		t.Errorf("the entries became %+v", shard.Status.Engines)
	}
}
