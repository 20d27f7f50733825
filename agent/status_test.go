package agent

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/agent/handover"
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

func TestAnUpdateTouchesOnlyTheEnginesOwnEntry(t *testing.T) {
	at := metav1.Unix(1000, 0)
	early := metav1.Unix(10, 0)
	mine := v1alpha1.ShardEngineStatus{Name: "a", Phase: v1alpha1.Capturing, Lists: []string{"x"}}
	shard := &v1alpha1.ArchiveShard{Spec: *orders("b", captures, "a", captures), Status: phased("b", v1alpha1.Capturing, "a", v1alpha1.Joining)}
	shard.Status.Sealer = "b"
	u := statusUpdate{entry: mine, since: at}
	if u.isAppliedTo(shard.Status) {
		t.Fatal("isAppliedTo reports an update before it is applied")
	}
	u.applyTo(shard)
	got := shard.Status
	if !u.isAppliedTo(got) || got.Sealer != "b" || got.Engines[0].Phase != v1alpha1.Capturing || !got.Engines[1].Since.Equal(&at) {
		t.Errorf("the status became %+v", got)
	}
	// The time of a phase stays if only other fields change.
	got.Engines[1].Since = &early
	u.entry.Message, u.seals = "m", true
	u.applyTo(shard)
	if e := got.Engines[1]; !e.Since.Equal(&early) || e.Message != "m" || got.Sealer != "a" {
		t.Errorf("the entry became %+v", e)
	}
	u = statusUpdate{entry: v1alpha1.ShardEngineStatus{Name: "a"}}
	u.applyTo(shard)
	if len(got.Engines) != 1 || got.Engines[0].Name != "b" || !u.isAppliedTo(got) {
		t.Errorf("the entries after the engine has left are %+v", got.Engines)
	}
}

func TestAnUpdateMakesRoomForTheEntry(t *testing.T) {
	shard := &v1alpha1.ArchiveShard{Spec: *orders("e0", captures), Status: &v1alpha1.ArchiveShardStatus{}}
	for i := range maxEntries {
		at := metav1.Unix(int64(1000-i), 0)
		shard.Status.Engines = append(shard.Status.Engines, v1alpha1.ShardEngineStatus{Name: "e" + string(rune('0'+i)), Since: &at})
	}
	u := statusUpdate{entry: v1alpha1.ShardEngineStatus{Name: "a", Phase: v1alpha1.Joining}}
	u.applyTo(shard)
	if n := len(shard.Status.Engines); n != maxEntries || handover.Entry(shard.Status, "e7") != nil || handover.Entry(shard.Status, "e0") == nil {
		t.Errorf("the entries became %+v", shard.Status.Engines)
	}
}
