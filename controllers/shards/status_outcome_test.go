package shards

import (
	"maps"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/controllers/placement"
	"varve.dev/varve/groups/compile"
)

func TestOutdated(t *testing.T) {
	const shards = 2 // both groups have PVs in both shards
	group := func(fingerprint uint64) *compile.Group {
		return &compile.Group{ByShard: map[int]int{0: 1, 1: 1}, Fingerprint: fingerprint}
	}
	compiled := &compilation{groups: map[string]*compile.Group{"a": group(1), "b": group(2)}, shards: make([]compiledShard, shards)}
	engines := []fleet.Engine{{Name: "e"}}
	in := func(phase v1alpha1.ShardPhase, lists ...string) *observed {
		in := &observed{shards: map[int]*v1alpha1.ArchiveShard{}, engines: engines}
		for i := range shards {
			compiled.shards[i].lists = []string{"new"}
			s := &v1alpha1.ArchiveShard{Status: &v1alpha1.ArchiveShardStatus{
				Engines: []v1alpha1.ShardEngineStatus{{Name: "e", Phase: phase, Lists: lists}},
			}}
			s.Spec.Engines = []v1alpha1.ShardEngine{{Name: "e", Order: v1alpha1.OrderCapture}}
			in.shards[i] = s
		}
		return in
	}
	for _, c := range []struct {
		name     string
		in       *observed
		captured map[string]uint64
		want     map[string]int
	}{
		{"nothing was captured before", in(v1alpha1.Capturing, "old"), nil, map[string]int{"a": 2, "b": 2}},
		{"everything is captured", in(v1alpha1.Capturing, "new"), nil, map[string]int{}},
		{"the other group has changed", in(v1alpha1.Capturing, "old"), map[string]uint64{"a": 1, "b": 7}, map[string]int{"b": 2}},
		{"a new engine is joining", in(v1alpha1.Joining, "old"), map[string]uint64{"a": 1, "b": 2}, map[string]int{"a": 2, "b": 2}},
	} {
		if got := c.in.outdated(compiled, c.captured); !maps.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	engines = []fleet.Engine{{Name: "e", Dead: true}}
	if got := in(v1alpha1.Capturing, "new").outdated(compiled, map[string]uint64{"a": 1, "b": 2}); len(got) != 2 {
		t.Errorf("with a dead engine: %v", got)
	}
}

func TestCapturedFingerprints(t *testing.T) {
	compiled := &compilation{groups: map[string]*compile.Group{"a": {Fingerprint: 1}, "b": {Fingerprint: 2}, "c": {Fingerprint: 3}}}
	got := capturedFingerprints(compiled, map[string]int{"b": 1, "c": 1}, map[string]uint64{"b": 7, "gone": 8})
	if want := map[string]uint64{"a": 1, "b": 7}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAnExpiryIsPublishedAlthoughNoListChanges checks compilations before and after a PV expires that another group still
// captures: they have the same fingerprint and the same lists.
func TestAnExpiryIsPublishedAlthoughNoListChanges(t *testing.T) {
	archiver, end := types.NamespacedName{Namespace: "ns", Name: "main"}, time.Unix(2e9, 0)
	r, known := &Reconciler{Outcomes: &outcome.Latest{}}, &memory{}
	publish := func(ended int, expiry time.Time) int {
		c := &compilation{fingerprint: 1, expiry: expiry, groups: map[string]*compile.Group{"ns/g": {Ended: ended}}}
		r.publish(archiver, &observed{}, c, placement.Result{}, known)
		return r.Outcomes.Get(archiver).Groups["ns/g"].Ended
	}
	if publish(0, end) != 0 || publish(1, end) != 0 {
		t.Error("an outcome that is the same by its fingerprint is published again")
	}
	if publish(1, end.Add(time.Hour)) != 1 || publish(2, time.Time{}) != 2 {
		t.Error("the expiry is not published")
	}
}
