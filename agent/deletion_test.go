package agent

import (
	"testing"
	"time"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
)

// TestDataIsDeletedOnlyAfterTheOtherEngineHasStopped checks that data is deleted only after
// the other engine has stopped. Samples that a second engine journals after the deletion would
// bring back deleted data.
func TestDataIsDeletedOnlyAfterTheOtherEngineHasStopped(t *testing.T) {
	entry := func(name string, phase v1alpha1.ShardPhase, lists ...string) v1alpha1.ShardEngineStatus {
		return v1alpha1.ShardEngineStatus{Name: name, Phase: phase, Lists: lists}
	}
	me := entry("a", v1alpha1.Capturing, "new")
	begin := time.Now()
	for name, tc := range map[string]struct {
		other v1alpha1.ShardEngineStatus
		after time.Duration // -1: never
	}{
		"no other engine":          {me, 0},
		"it has drained":           {entry("b", v1alpha1.Drained), 0},
		"it captures the PVs":      {entry("b", v1alpha1.Capturing, "old"), -1},
		"it is about to drain":     {entry("b", v1alpha1.Draining, "old", "new"), -1},
		"it captures the new list": {entry("b", v1alpha1.Capturing, "new"), flushTime},
		"it joins":                 {entry("b", v1alpha1.Joining), flushTime},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shard{
				applied: true, listsTried: true, sealing: true, decision: handover.Decision{Hold: true}, wanted: listsOf("new: A"), deleted: map[string]bool{},
			}
			s.captured = s.wanted
			s.spec.Lists, s.spec.Deletions = refs([]string{"new"}), refs([]string{"gone"})
			s.object = &v1alpha1.ArchiveShard{Status: &v1alpha1.ArchiveShardStatus{Engines: []v1alpha1.ShardEngineStatus{me, tc.other}}}
			got := time.Duration(-1)
			for after := time.Duration(0); after <= 10*time.Second && got < 0; after += time.Second / 2 {
				if len(s.pendingDeletions("a", begin.Add(after))) > 0 {
					got = after
				}
			}
			if got != tc.after {
				t.Errorf("data is deleted after %v, want %v", got, tc.after)
			}
		})
	}
}
