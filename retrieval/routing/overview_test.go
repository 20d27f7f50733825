package routing

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/engine/serve/overview"
)

// TestEnginesByTheirReports checks what a pod says of an engine that answers, and of one that does not.
func TestEnginesByTheirReports(t *testing.T) {
	started := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	sent := report.Report{
		Engine: "a", Version: "1.2", Started: started, Received: 100, Stored: 90, Pending: 4, Dropped: 6, Storage: "StorageAway: no", JournalKeptSeconds: 100, OldestUnsealedSeconds: 7,
		WrongClock: &report.WrongClock{OffsetSeconds: 3, Because: "IOCs agree"}, Damaged: &report.Damaged{Objects: 2, First: "x"},
		Shards: []report.Shard{{Index: 0, Channels: 5, Connected: 4, SamplesPerSecond: 10, Sealing: true}, {Index: 1, Channels: 1, Connected: 1, SamplesPerSecond: 2}},
	}
	code := http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(sent)
	}))
	defer srv.Close()
	r := New(Config{})
	got, err := r.fetchReport(t.Context(), srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	e := engineOf("a", got)
	f := e.Figures
	if e.Version != "1.2" || !e.Started.Equal(started) || f.Channels != 6 || f.Connected != 5 || f.SamplesPerSecond != 12 || f.Shards != 2 || f.Sealing != 1 || f.Pending != 4 {
		t.Errorf("the engine is %+v with %+v", e, f)
	}
	if *f.Unsealed != (overview.Unsealed{OldestSeconds: 7, KeptSeconds: 100}) || f.Clock.State != overview.ClockWrong || f.Damaged.Objects != 2 || f.Storage != sent.Storage {
		t.Errorf("the figures are %+v", f)
	}
	sent.WrongClock, sent.JournalKeptSeconds = nil, 0
	if f := engineOf("a", &sent).Figures; f.Unsealed != nil || f.Clock.State != overview.ClockNotWrong {
		t.Errorf("what the report does not say is %+v", f)
	}
	code = http.StatusNotFound
	if _, err := r.fetchReport(t.Context(), srv.URL); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("an engine that refuses gives %v", err)
	}
	if f := r.Fleet(t.Context()); f.Missing == "" || f.Shards != 0 {
		t.Errorf("before the first list of the API server, the fleet is %+v", f)
	}
	lost := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
	}}}
	for want, pod := range map[string]*corev1.Pod{"its pod does not exist": nil, "its node does not respond": lost, "its pod is in phase Pending": {}} {
		if got := whyAway(pod); got != want {
			t.Errorf("the engine is away because %s, want %s", got, want)
		}
	}
}

// TestShardsWithTheirEngines checks which engines capture a shard.
func TestShardsWithTheirEngines(t *testing.T) {
	s := &v1alpha1.ArchiveShard{Spec: v1alpha1.ArchiveShardSpec{Index: new(int32(3)), Channels: 7}}
	if got, captured := assignedShard(s, nil); captured || got.Shard != 3 || got.Channels != 7 || len(got.Engines) != 0 {
		t.Errorf("a shard without a status is %+v, captured %t", got, captured)
	}
	s.Status = &v1alpha1.ArchiveShardStatus{Sealer: "a", Engines: []v1alpha1.ShardEngineStatus{
		{Name: "a", Phase: v1alpha1.Capturing}, {Name: "b", Phase: v1alpha1.Joining}, {Name: "c", Phase: v1alpha1.Drained},
	}}
	got, captured := assignedShard(s, map[string]*report.Report{"a": {Shards: []report.Shard{{Index: 3, Connected: 6}}}})
	if !captured || len(got.Engines) != 2 || !got.Engines[0].Sealing || *got.Engines[0].Connected != 6 || got.Engines[1].Connected != nil {
		t.Errorf("the shard is %+v, captured %t", got, captured)
	}
}
