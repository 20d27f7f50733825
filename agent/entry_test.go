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
	if n := len(shard.Status.Engines); n != maxEntries || handover.Entry(shard.Status, "e7") != nil || handover.Entry(shard.Status, "e0") == nil {
		t.Errorf("the entries became %+v", shard.Status.Engines)
	}
}
