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

// orders returns a spec with the given pairs of engine and order.
func orders(list ...any) *v1alpha1.ArchiveShardSpec {
	spec := &v1alpha1.ArchiveShardSpec{}
	for i := 0; i < len(list); i += 2 {
		spec.Engines = append(spec.Engines, v1alpha1.ShardEngine{Name: list[i].(string), Order: list[i+1].(v1alpha1.EngineOrder)})
	}
	return spec
}

// phased returns a status with the given pairs of engine and phase.
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
		Input
		want Decision
	}{
		"an engine captures and seals a new shard": {
			Input{Presence: Present, Spec: orders("a", captures)}, Decision{Hold: true, Seal: true}},
		"an engine does not seal a shard that moves to it": {
			Input{Presence: Present, Spec: orders("b", captures, "a", captures)}, Decision{Hold: true}},
		"the first engine seals when the order of engines changes": {
			Input{Presence: Present, Spec: orders("a", captures, "b", drains), Before: Decision{Hold: true}}, holding},
		"an engine ignores a shard of others": {
			Input{Presence: Present, Spec: orders("b", captures)}, Decision{}},

		"the object is missing": {
			Input{Presence: Missing, Spec: orders("a", captures), Before: holding}, Decision{Hold: true, Seal: true, Orphaned: true}},
		"the object is missing during a hand-over": {
			Input{Presence: Missing, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Capturing), Before: holding},
			Decision{Hold: true, Seal: true, Orphaned: true}},
		"the label is missing": {
			Input{Presence: Unlabelled, Spec: orders("a", captures), Before: holding},
			Decision{Hold: true, Seal: true, Orphaned: true, Message: messageUnlabelled}},
		"an engine follows an order without the label": {
			Input{Presence: Unlabelled, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Capturing), Before: holding}, released},
		"the spec names no engine": {
			Input{Presence: Present, Spec: orders(), Before: holding}, Decision{Hold: true, Seal: true, Orphaned: true, Message: messageUnnamed}},
		"the spec names others, which capture": {
			Input{Presence: Present, Spec: orders("b", captures), Status: phased("b", v1alpha1.Capturing), Before: holding},
			Decision{Hold: true, Orphaned: true, Message: messageUnnamed}},
		"a missing object assigns nothing": {
			Input{Presence: Missing, Spec: orders("a", captures)}, Decision{}},

		"an order to drain waits for another engine": {
			Input{Presence: Present, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Joining), Before: holding},
			Decision{Hold: true, Drain: true, Message: messageWaiting}},
		"an order to drain without any other engine": {
			Input{Presence: Present, Spec: orders("a", drains), Status: phased("a", v1alpha1.Capturing), Before: holding},
			Decision{Hold: true, Seal: true, Drain: true, Message: messageWaiting}},
		"an engine with an order to drain is no successor": {
			Input{Presence: Present, Spec: orders("b", drains, "a", drains), Status: phased("b", v1alpha1.Capturing), Before: holding},
			Decision{Hold: true, Drain: true, Message: messageWaiting}},
		"an engine that the spec does not name is no successor": {
			Input{Presence: Present, Spec: orders("a", drains), Status: phased("b", v1alpha1.Capturing), Before: Decision{Hold: true}},
			Decision{Hold: true, Seal: true, Drain: true, Message: messageWaiting}},
		"an order to drain is carried out": {
			Input{Presence: Present, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Capturing), Before: holding}, released},
		"a released shard stays released when the successor restarts": {
			Input{Presence: Present, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Joining), Before: released}, released},
		"a released shard stays released when the object is missing": {
			Input{Presence: Missing, Spec: orders("b", captures, "a", drains), Before: released}, released},
		"an order to capture takes a released shard back": {
			Input{Presence: Present, Spec: orders("a", captures), Before: released}, holding},

		"after a restart without state, a finished drain stays finished": {
			Input{Presence: Present, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Joining, "a", v1alpha1.Drained)}, released},
		"after a restart without state, an unfinished drain continues": {
			Input{Presence: Present, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Joining, "a", v1alpha1.Draining)},
			Decision{Hold: true, Drain: true, Message: messageWaiting}},
		"an old status entry does not release a shard that is held again": {
			Input{Presence: Present, Spec: orders("b", captures, "a", drains), Status: phased("b", v1alpha1.Joining, "a", v1alpha1.Drained), Before: holding},
			Decision{Hold: true, Drain: true, Message: messageWaiting}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.Engine = "a"
			if got := Decide(tc.Input); got != tc.want {
				t.Errorf("decided %+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestOnlyAnOrderEndsCapture checks that an engine releases a held shard only if it sees an
// order to drain together with another engine that captures.
func TestOnlyAnOrderEndsCapture(t *testing.T) {
	specs := []*v1alpha1.ArchiveShardSpec{
		orders(), orders("b", captures), orders("a", captures), orders("a", drains), orders("b", captures, "a", drains), orders("b", drains, "a", drains),
	}
	statuses := []*v1alpha1.ArchiveShardStatus{
		nil, phased("b", v1alpha1.Joining), phased("b", v1alpha1.Capturing), phased("a", v1alpha1.Drained, "b", v1alpha1.Draining),
	}
	for _, p := range []Presence{Missing, Unlabelled, Present} {
		for i, spec := range specs {
			for j, st := range statuses {
				got := Decide(Input{Engine: "a", Presence: p, Spec: spec, Status: st, Before: Decision{Hold: true, Seal: true}})
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
		"holding":                  {Decision{Hold: true}, false, false, v1alpha1.Joining},
		"connected":                {Decision{Hold: true}, true, true, v1alpha1.Capturing},
		"an orphan":                {Decision{Hold: true, Orphaned: true}, true, true, v1alpha1.Capturing},
		"ordered to drain":         {Decision{Hold: true, Drain: true}, true, true, v1alpha1.Draining},
		"flushing":                 {Decision{Drain: true, Released: true}, false, true, v1alpha1.Draining},
		"flushed":                  {Decision{Drain: true, Released: true}, false, false, v1alpha1.Drained},
		"no longer named, closing": {Decision{}, false, true, v1alpha1.Draining},
		"over":                     {Decision{}, false, false, ""},
	} {
		if got := Phase(tc.d, tc.joined, tc.open); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestJoiningIsDoneWhenNoMoreChannelsConnect(t *testing.T) {
	for name, tc := range map[string]struct {
		connected map[float64]int // by time in seconds
		want      float64         // when it is done
	}{
		"no channel connects":             {map[float64]int{}, 15},
		"all connect at once":             {map[float64]int{0.5: 10}, 0.5},
		"some connect, and then no more":  {map[float64]int{0.5: 3, 1: 7}, 3},
		"some connect early, and no more": {map[float64]int{0: 7}, 2},
		"a trickle, cut at joinAtMost":    {map[float64]int{1: 1, 2.5: 2, 4: 3, 5.5: 4, 7: 5, 8.5: 6, 10: 7, 11.5: 8, 13: 9}, 15},
		"reconnecting is no growth":       {map[float64]int{1: 5, 2: 4, 2.5: 5}, 3},
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
