package handover

import (
	"testing"
	"time"

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
	holding := Decision{Hold: true, Seal: true}
	released := Decision{Drain: true, Released: true}
	for name, tc := range map[string]struct {
		Known
		want Decision
	}{
		"a new shard is taken": {
			Known{Presence: Present, Spec: orders("a", captures)}, Decision{Hold: true, Seal: true}},
		"a shard that moves here is journalled, not sealed": {
			Known{Presence: Present, Spec: orders("b", captures, "a", captures)}, Decision{Hold: true}},
		"the first one seals when the order changes": {
			Known{Presence: Present, Spec: orders("a", captures, "b", drains), Before: Decision{Hold: true}}, holding},
		"a shard of others is left alone": {
			Known{Presence: Present, Spec: orders("b", captures)}, Decision{}},

		"the object is missing": {
			Known{Presence: Missing, Spec: orders("a", captures), Before: holding}, Decision{Hold: true, Seal: true, Orphaned: true}},
		"the object is missing while another was to take over": {
			Known{Presence: Missing, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Capturing), Before: holding},
			Decision{Hold: true, Seal: true, Orphaned: true}},
		"the label is missing": {
			Known{Presence: Unlabelled, Spec: orders("a", captures), Before: holding},
			Decision{Hold: true, Seal: true, Orphaned: true, Message: sayUnlabelled}},
		"an order is obeyed without the label": {
			Known{Presence: Unlabelled, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Capturing), Before: holding}, released},
		"the spec names no engine": {
			Known{Presence: Present, Spec: orders(), Before: holding}, Decision{Hold: true, Seal: true, Orphaned: true, Message: sayUnnamed}},
		"the spec names others, which capture": {
			Known{Presence: Present, Spec: orders("b", captures), Status: phased("b", v1alpha1.Capturing), Before: holding},
			Decision{Hold: true, Orphaned: true, Message: sayUnnamed}},
		"a missing object gives nothing": {
			Known{Presence: Missing, Spec: orders("a", captures)}, Decision{}},

		"an order to drain waits for another engine": {
			Known{Presence: Present, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Joining), Before: holding},
			Decision{Hold: true, Drain: true, Message: sayWaiting}},
		"an order to drain without any other engine": {
			Known{Presence: Present, Spec: orders("a", drains), Status: phased("a", v1alpha1.Capturing), Before: holding},
			Decision{Hold: true, Seal: true, Drain: true, Message: sayWaiting}},
		"one that is to drain is no successor": {
			Known{Presence: Present, Spec: orders("b", drains, "a", drains), Status: phased("b", v1alpha1.Capturing), Before: holding},
			Decision{Hold: true, Drain: true, Message: sayWaiting}},
		"one that the spec does not name is no successor": {
			Known{Presence: Present, Spec: orders("a", drains), Status: phased("b", v1alpha1.Capturing), Before: Decision{Hold: true}},
			Decision{Hold: true, Seal: true, Drain: true, Message: sayWaiting}},
		"an order to drain is carried out": {
			Known{Presence: Present, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Capturing), Before: holding}, released},
		"what is released stays so when the successor starts again": {
			Known{Presence: Present, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Joining), Before: released}, released},
		"what is released stays so when the object is missing": {
			Known{Presence: Missing, Spec: orders("b", captures, "a", drains), Before: released}, released},
		"another order takes it again": {
			Known{Presence: Present, Spec: orders("a", captures), Before: released}, holding},

		"after a restart without a state, a drain that was done stays done": {
			Known{Presence: Present, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Joining, "a", v1alpha1.Drained)}, released},
		"after a restart without a state, a drain that was not done goes on": {
			Known{Presence: Present, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Joining, "a", v1alpha1.Draining)},
			Decision{Hold: true, Drain: true, Message: sayWaiting}},
		"an old answer does not stop a shard that is held again": {
			Known{Presence: Present, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Joining, "a", v1alpha1.Drained), Before: holding},
			Decision{Hold: true, Drain: true, Message: sayWaiting}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.Engine = "a"
			if got := Decide(tc.Known); got != tc.want {
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
	for _, p := range []Presence{Missing, Unlabelled, Present} {
		for i, spec := range specs {
			for j, st := range statuses {
				got := Decide(Known{Engine: "a", Presence: p, Spec: spec, Status: st, Before: Decision{Hold: true, Seal: true}})
				if may := p != Missing && i == 4 && j == 2; got.Hold == may {
					t.Errorf("presence %d, spec %d, status %d: hold is %v", p, i, j, got.Hold)
				}
			}
		}
	}
}

func TestPhase(t *testing.T) {
	for name, tc := range map[string]struct {
		d            Decision
		joined, open bool
		want         v1alpha1.ShardPhase
	}{
		"taken":                    {Decision{Hold: true}, false, false, v1alpha1.Joining},
		"connected":                {Decision{Hold: true}, true, true, v1alpha1.Capturing},
		"an orphan":                {Decision{Hold: true, Orphaned: true}, true, true, v1alpha1.Capturing},
		"told to drain":            {Decision{Hold: true, Drain: true}, true, true, v1alpha1.Draining},
		"flushing":                 {Decision{Drain: true, Released: true}, false, true, v1alpha1.Draining},
		"flushed":                  {Decision{Drain: true, Released: true}, false, false, v1alpha1.Drained},
		"no longer named, closing": {Decision{}, false, true, v1alpha1.Draining},
		"over":                     {Decision{}, false, false, ""},
	} {
		if got := Say(tc.d, tc.joined, tc.open); got != tc.want {
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
			j := Joining{Since: begin}
			connected := 0
			for at := 0.0; ; at += 0.5 {
				if n, ok := tc.connected[at]; ok {
					connected = n
				}
				if done := j.Done(begin.Add(time.Duration(at*float64(time.Second))), connected, 10); done {
					if at != tc.want {
						t.Errorf("done after %v s, want %v s", at, tc.want)
					}
					return
				}
			}
		})
	}
	if j := (Joining{}); !j.Done(time.Unix(1, 0), 0, 0) {
		t.Error("a shard without channels is not done at once")
	}
}
