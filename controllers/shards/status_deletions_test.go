package shards

import (
	"testing"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/outcome"
)

// TestADeletionIsAsFarAsInItsLastShard checks how the states that engines report become the state of a deletion.
func TestADeletionIsAsFarAsInItsLastShard(t *testing.T) {
	type reports map[string]v1alpha1.ShardErasureStatus // by engine
	st := func(state v1alpha1.DeletionState, removed int32, message string) v1alpha1.ShardErasureStatus {
		return v1alpha1.ShardErasureStatus{Name: "x", State: state, PVs: 5, Removed: removed, Message: message}
	}
	waiting, hidden, done := st(v1alpha1.DeletionWaiting, 0, "the store is unreachable"), st(v1alpha1.DeletionHidden, 2, ""), st(v1alpha1.DeletionDone, 5, "")
	const notBegun = " of 2 shards have not begun: the engine that seals a shard carries out the deletion"
	for _, tc := range []struct {
		name          string
		first, second reports
		unwritten     bool // the second shard does not have the order yet
		want          outcome.Deletion
	}{
		{"no engine has answered", nil, nil, false, outcome.Deletion{Message: "2" + notBegun}},
		{"one shard is done", reports{"a": done}, nil, false, outcome.Deletion{Message: "1" + notBegun}},
		{"an answer to an earlier order", reports{"a": done}, reports{"b": done}, true, outcome.Deletion{Message: "1" + notBegun}},
		{"one shard waits", reports{"a": done}, reports{"b": waiting}, false, outcome.Deletion{State: v1alpha1.DeletionWaiting, Message: "the store is unreachable", Failed: true}},
		{"hidden", reports{"a": done}, reports{"b": hidden}, false, outcome.Deletion{State: v1alpha1.DeletionHidden, Message: "no reader sees the samples any longer; they are removed from disk for 7 of 10 PVs"}},
		{"hidden, and the store fails", reports{"a": hidden}, reports{"b": st(v1alpha1.DeletionHidden, 2, "no quorum")}, false, outcome.Deletion{State: v1alpha1.DeletionHidden, Message: "no quorum", Failed: true}},
		{"done", reports{"a": done}, reports{"b": done}, false, outcome.Deletion{State: v1alpha1.DeletionDone}},
		{"the former sealer knows more", reports{"a": done, "sealer": waiting}, reports{"b": done}, false, outcome.Deletion{State: v1alpha1.DeletionDone}},
		{"the sealer and a former one", reports{"a": st(v1alpha1.DeletionHidden, 0, "old"), "sealer": hidden}, reports{"b": done}, false,
			outcome.Deletion{State: v1alpha1.DeletionHidden, Message: "no reader sees the samples any longer; they are removed from disk for 7 of 10 PVs"}},
	} {
		in := &observed{shards: map[int]*v1alpha1.ArchiveShard{}}
		for i, engines := range []reports{tc.first, tc.second} {
			s := &v1alpha1.ArchiveShard{Status: &v1alpha1.ArchiveShardStatus{Sealer: "sealer"}}
			if !tc.unwritten || i == 0 {
				s.Spec.Erasures = []v1alpha1.ShardErasure{{Name: "x"}}
			}
			for name, e := range engines {
				s.Status.Engines = append(s.Status.Engines, v1alpha1.ShardEngineStatus{Name: name, Erasures: []v1alpha1.ShardErasureStatus{{Name: "y", State: v1alpha1.DeletionDone}, e}})
			}
			in.shards[i+1] = s
		}
		c := &compilation{deletions: []deletion{{group: "ns/g", orders: map[int]v1alpha1.ShardErasure{1: {Name: "x"}, 2: {Name: "x"}}}}}
		if got := in.deletionStates(c)["ns/g"]; len(got) != 1 || got[0] != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
	blocked := &compilation{deletions: []deletion{{group: "ns/g", index: 3, blocked: "too many", failed: true}}}
	if got := (&observed{}).deletionStates(blocked)["ns/g"]; got[0] != (outcome.Deletion{Index: 3, Message: "too many", Failed: true}) {
		t.Errorf("a deletion without orders: %+v", got)
	}
}
