package archiverstatus

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/fleet"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// healthy returns an Archiver without problems, with two engines, two retrieval pods and two
// shards.
func healthy() Input {
	two, zero, one := int32(2), int32(0), int32(1)
	deployment := func(component string) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{
				Name: "main-" + component, Labels: map[string]string{v1alpha1.LabelComponent: component},
				Annotations: map[string]string{AnnotationWorked: "t1"},
			},
			Spec:   appsv1.DeploymentSpec{Replicas: &two},
			Status: appsv1.DeploymentStatus{Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2},
		}
	}
	shard := func(index *int32, engine string) v1alpha1.ArchiveShard {
		return v1alpha1.ArchiveShard{
			Spec: v1alpha1.ArchiveShardSpec{Index: index, Channels: 50},
			Status: &v1alpha1.ArchiveShardStatus{
				Engines: []v1alpha1.ShardEngineStatus{{Name: engine, Phase: v1alpha1.Capturing}},
			},
		}
	}
	return Input{
		Archiver: &v1alpha1.Archiver{
			ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: "lab", Generation: 3},
			Spec: v1alpha1.ArchiverSpec{
				Shards:    2,
				Engines:   v1alpha1.EnginesSpec{Replicas: &two},
				Retrieval: v1alpha1.RetrievalSpec{Replicas: &two},
				EPICS:     v1alpha1.EPICSSpec{MaxCircuitsPerServer: 8},
				Storage:   v1alpha1.StorageSpec{Cassandra: &v1alpha1.CassandraSpec{External: &v1alpha1.ExternalCassandra{}}},
			},
		},
		Engines:   deployment(v1alpha1.ComponentEngine),
		Retrieval: deployment(v1alpha1.ComponentRetrieval),
		Schema: &batchv1.Job{Status: batchv1.JobStatus{
			Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}},
		}},
		Pods:   []corev1.Pod{readyPod("a"), readyPod("b")},
		Shards: []v1alpha1.ArchiveShard{shard(&zero, "a"), shard(&one, "b")},
		Fleet: []fleet.Engine{
			{Name: "a", Ready: true, Report: reporting(40, 1234.5)},
			{Name: "b", Ready: true, Report: reporting(50, 0.025)},
		},
		Templates: map[string]string{"main-engine": "t1", "main-retrieval": "t1"},
		Synced:    true,
		Now:       now,
	}
}

// readyPod returns a pod that has been ready for a minute.
func readyPod(name string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentEngine}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute)),
		}}},
	}
}

func reporting(connected int, rate float64) *report.Report {
	return &report.Report{
		Groups: map[string]report.Group{
			"lab/vacuum": {Channels: 50, Connected: connected, Disconnected: 50 - connected, SamplesPerSecond: rate, BytesPerDay: 1e6},
		},
		Circuits: []report.Circuit{{Host: "10.0.0.1:5064", Count: 3}},
	}
}

func condition(t *testing.T, s v1alpha1.ArchiverStatus, kind string) metav1.Condition {
	t.Helper()
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c
		}
	}
	t.Fatalf("no condition %s", kind)
	return metav1.Condition{}
}

func TestHealthyArchiverIsReady(t *testing.T) {
	s := Compute(healthy())
	for kind, want := range map[string]string{
		v1alpha1.ConditionReady:        "True Ready",
		v1alpha1.ConditionReconciling:  "False UpToDate",
		v1alpha1.ConditionStalled:      "False NotStalled",
		v1alpha1.ConditionDegraded:     "False AsExpected",
		v1alpha1.ConditionStorageReady: "True Connected",
	} {
		c := condition(t, s, kind)
		if got := string(c.Status) + " " + c.Reason; got != want || c.ObservedGeneration != 3 || c.Message == "" {
			t.Errorf("%s: %s of generation %d (%s), want %s", kind, got, c.ObservedGeneration, c.Message, want)
		}
	}
	if s.Engines != "2/2" || s.Shards != "2/2" || s.Replicas != 2 || s.URL != "http://main-retrieval.lab.svc" {
		t.Errorf("engines %s, shards %s, replicas %d, url %s", s.Engines, s.Shards, s.Replicas, s.URL)
	}
	if want := (v1alpha1.ChannelCounts{Total: 100, Connected: 90, Disconnected: 10}); *s.Channels != want {
		t.Errorf("channels %+v, want %+v", *s.Channels, want)
	}
	if want := (v1alpha1.Rates{SamplesPerSecond: 1200, BytesPerDay: 2_000_000}); *s.Rates != want {
		t.Errorf("rates %+v, want %+v", *s.Rates, want)
	}
}

// TestConditionsFollowObservations changes one observation at a time.
func TestConditionsFollowObservations(t *testing.T) {
	zero := int32(0)
	for _, c := range []struct {
		name    string
		breakIt func(*Input)
		kind    string
		want    string // status, reason
		message string
	}{
		{"scaled to 0", func(in *Input) { in.Archiver.Spec.Engines.Replicas = &zero },
			v1alpha1.ConditionReady, "False NoEngines", "nothing is captured"},
		{"an engine is missing", func(in *Input) { in.Engines.Status.ReadyReplicas = 1 },
			v1alpha1.ConditionReady, "False EnginesNotReady", "1 of 2"},
		{"no Deployment yet", func(in *Input) { in.Engines = nil },
			v1alpha1.ConditionReady, "False EnginesNotReady", "0 of 2"},
		{"a shard's engine died", func(in *Input) { in.Fleet[1].Dead = true },
			v1alpha1.ConditionReady, "False ShardsNotCaptured", "1 shards"},
		{"no retrieval pod is ready", func(in *Input) { in.Retrieval.Status.ReadyReplicas = 0 },
			v1alpha1.ConditionReady, "False RetrievalNotReady", "no retrieval pod"},
		{"retrieval has no replicas", func(in *Input) {
			in.Retrieval.Status.ReadyReplicas = 0
			in.Archiver.Spec.Retrieval.Replicas = &zero
		}, v1alpha1.ConditionReady, "True Ready", ""},

		{"a new image", func(in *Input) { in.Engines.Status.UpdatedReplicas = 1 },
			v1alpha1.ConditionReconciling, "True RollingOut", ""},
		{"shards move", func(in *Input) { in.Moving = 1 },
			v1alpha1.ConditionReconciling, "True ShardsMoving", ""},
		{"the schema is checked again", func(in *Input) { in.Schema.Status.Conditions = nil },
			v1alpha1.ConditionReconciling, "True SchemaRuns", ""},
		{"engines write without a schema Job", func(in *Input) { in.Schema = nil },
			v1alpha1.ConditionStorageReady, "True Connected", ""},

		{"the first start", func(in *Input) { in.Schema, in.Fleet = nil, nil },
			v1alpha1.ConditionStorageReady, "False WaitingForSchema", ""},
		{"Cassandra is unreachable", func(in *Input) { in.Fleet[1].Report.Storage = "no hosts available" },
			v1alpha1.ConditionStorageReady, "False Away", "no hosts available"},
		{"Cassandra is unreachable: degraded", func(in *Input) { in.Fleet[1].Report.Storage = "no hosts available" },
			v1alpha1.ConditionDegraded, "True StorageAway", "no hosts available"},
		{"Cassandra is unreachable: not ready", func(in *Input) { in.Fleet[1].Report.Storage = "no hosts available" },
			v1alpha1.ConditionReady, "False Away", "no hosts available"},
		{"a restored keyspace of an earlier release", func(in *Input) {
			in.Fleet[1].Report.Storage = "WaitingForSchema: the keyspace lacks tables or columns of this release"
		}, v1alpha1.ConditionDegraded, "True StorageAway", "lacks tables or columns of this release"},
		{"no engine reports", func(in *Input) { in.Fleet[0].Report, in.Fleet[1].Report = nil, nil },
			v1alpha1.ConditionStorageReady, "Unknown WaitingForEngine", ""},

		{"an engine does not report", func(in *Input) { in.Fleet[0].Report = nil },
			v1alpha1.ConditionDegraded, "True NoReport", "1 engine is ready but unreachable"},
		{"no report after an operator restart", func(in *Input) { in.Fleet[0].Report, in.Synced = nil, false },
			v1alpha1.ConditionDegraded, "False AsExpected", ""},
		{"a new engine", func(in *Input) {
			in.Fleet[0].Report = nil
			in.Pods[0].Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-5 * time.Second))
		}, v1alpha1.ConditionDegraded, "False AsExpected", ""},
		{"an engine died", func(in *Input) { in.Fleet[0].Dead = true },
			v1alpha1.ConditionDegraded, "True EngineLost", "1 engine is"},
		{"an engine's clock is behind", func(in *Input) {
			in.Fleet[0].Report.WrongClock = &report.WrongClock{OffsetSeconds: 362.4}
		}, v1alpha1.ConditionDegraded, "True EngineClockWrong", "on the nodes of engines a (6 min behind); good times"},
		{"two engines' clocks are ahead", func(in *Input) {
			in.Fleet[1].Report.WrongClock = &report.WrongClock{OffsetSeconds: -13}
			in.Fleet[0].Report.WrongClock = &report.WrongClock{OffsetSeconds: -3 * 86400}
		}, v1alpha1.ConditionDegraded, "True EngineClockWrong", "engines a (3 days ahead), b (10 s ahead); good times"},
		{"the clock of a dead engine", func(in *Input) {
			in.Fleet[0].Dead, in.Fleet[0].Report.WrongClock = true, &report.WrongClock{OffsetSeconds: 362.4}
		}, v1alpha1.ConditionDegraded, "True EngineLost", "1 engine is"},
		{"an address list cannot be resolved", func(in *Input) {
			in.Fleet[1].Report.SearchProblems = []string{"EPICS_CA_ADDR_LIST has host names that cannot be resolved: ioc1"}
			in.Fleet[0].Report.SearchProblems = []string{"EPICS_CA_ADDR_LIST has host names that cannot be resolved: ioc1"}
		}, v1alpha1.ConditionDegraded, "True SearchIncomplete", "PVs may not be found: EPICS_CA_ADDR_LIST has host names that cannot be resolved: ioc1 (engines a, b); correct spec.epics"},
		{"a dead engine had no addresses", func(in *Input) {
			in.Fleet[0].Dead, in.Fleet[0].Report.SearchProblems = true, []string{"there are no addresses to search"}
		}, v1alpha1.ConditionDegraded, "True EngineLost", "1 engine is"},
		{"samples are not sealed", func(in *Input) {
			in.Fleet[0].Report.SealingLag = &report.SealingLag{Shards: 1, OldestSeconds: 7*3600 + 9, KeptSeconds: 86400}
			in.Fleet[1].Report.SealingLag = &report.SealingLag{Shards: 3, OldestSeconds: 9*3600 + 3000, KeptSeconds: 86400}
		}, v1alpha1.ConditionDegraded, "True SealingLags", "samples of 4 shards have been in the journal for more than 9 h, and no engine can put them into blocks; the journal keeps them for 24 h"},
		{"a dead engine did not seal", func(in *Input) {
			in.Fleet[0].Dead, in.Fleet[0].Report.SealingLag = true, &report.SealingLag{Shards: 1, OldestSeconds: 7 * 3600, KeptSeconds: 86400}
		}, v1alpha1.ConditionDegraded, "True EngineLost", "1 engine is"},
		{"a block is damaged", func(in *Input) {
			in.Fleet[1].Report.Damaged = &report.Damaged{Objects: 1, First: "the block of A that begins at 2026-01-01T00:00:00Z"}
		}, v1alpha1.ConditionDegraded, "True DataDamaged", "1 stored object is damaged: the block of A that begins at 2026-01-01T00:00:00Z (found by engine b); its samples are marked"},
		{"two engines found damage", func(in *Input) {
			in.Fleet[1].Report.Damaged = &report.Damaged{Objects: 1, First: "the block of A", IDs: []uint64{8}}
			in.Fleet[0].Report.Damaged = &report.Damaged{Objects: 3, First: "row 1/2 in the journal of shard 4", IDs: []uint64{5, 6, 7}}
		}, v1alpha1.ConditionDegraded, "True DataDamaged", "4 stored objects are damaged, the first one: row 1/2 in the journal of shard 4 (found by engine a)"},
		{"two engines found the same blocks damaged", func(in *Input) {
			in.Fleet[0].Report.Damaged = &report.Damaged{Objects: 2, First: "the block of A", IDs: []uint64{5, 6}}
			in.Fleet[1].Report.Damaged = &report.Damaged{Objects: 3, First: "the block of B", IDs: []uint64{6, 5, 9}}
		}, v1alpha1.ConditionDegraded, "True DataDamaged", "3 stored objects are damaged, the first one: the block of A (found by engine a)"},
		{"two engines found more damaged blocks than they name", func(in *Input) {
			in.Fleet[0].Report.Damaged = &report.Damaged{Objects: 12, First: "the block of A", IDs: []uint64{5, 6}}
			in.Fleet[1].Report.Damaged = &report.Damaged{Objects: 11, First: "the block of B", IDs: []uint64{6, 5}}
		}, v1alpha1.ConditionDegraded, "True DataDamaged", "12 stored objects are damaged"},
		{"too many circuits", func(in *Input) {
			in.Fleet[0].Report.Circuits[0].Count = 7
		}, v1alpha1.ConditionDegraded, "True TooManyCircuits", "engines have more than 8 connections to IOC 10.0.0.1:5064"},
		{"an ArchiveShard was removed", func(in *Input) {
			in.Fleet[0].Report.Shards = []report.Shard{{Index: 0, Orphaned: true}}
		}, v1alpha1.ConditionDegraded, "True ShardObjectMissing", "1 shards"},
		{"no limit", func(in *Input) { in.Fleet[1].Report.DiskGuard = &report.DiskGuard{Reason: "NoLimit"} },
			v1alpha1.ConditionDiskGuard, "False NoLimit", "no limit is set"},
		{"below the limit", func(in *Input) {
			in.Fleet[1].Report.DiskGuard = &report.DiskGuard{Reason: "BelowLimit", Limit: 1200 << 30, Size: 7, Before: &now}
		}, v1alpha1.ConditionDiskGuard, "False BelowLimit", "well below its limit of 1.2 TiB; raw samples before " + now.Format(time.RFC3339)},
		{"the oldest samples are deleted", func(in *Input) {
			in.Fleet[1].Report.DiskGuard = &report.DiskGuard{Reason: "Dropping", Limit: 100 << 30, Before: &now}
		}, v1alpha1.ConditionDiskGuard, "True Dropping", "100 GiB; raw samples before"},
		{"Cassandra has not freed the disk space", func(in *Input) {
			in.Fleet[1].Report.DiskGuard = &report.DiskGuard{Reason: "WaitingForRoom", Limit: 100 << 30, Waiting: 12345 << 20, Before: &now, Text: "run nodetool"}
		}, v1alpha1.ConditionDiskGuard, "True WaitingForRoom", "about 12 GiB of deleted data still take up disk space: run nodetool"},
		{"nothing is left to delete", func(in *Input) {
			in.Fleet[1].Report.DiskGuard = &report.DiskGuard{Reason: "NothingLeft", Limit: 100 << 30}
		},
			v1alpha1.ConditionDiskGuard, "True NothingLeft", "too recent"},
		{"a Cassandra node is down", func(in *Input) {
			in.Fleet[1].Report.DiskGuard = &report.DiskGuard{Reason: "SizeUnknown", Text: "node 2: no route"}
		},
			v1alpha1.ConditionDiskGuard, "Unknown SizeUnknown", "nothing is deleted: node 2: no route"},

		{"the API server refuses an object", func(in *Input) { in.Refused = "Deployment main-engine: invalid" },
			v1alpha1.ConditionDegraded, "True Refused", "main-engine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := healthy()
			c.breakIt(&in)
			got := condition(t, Compute(in), c.kind)
			if string(got.Status)+" "+got.Reason != c.want || !strings.Contains(got.Message, c.message) {
				t.Errorf("%s is %s %s (%s), want %s (%s)", c.kind, got.Status, got.Reason, got.Message, c.want, c.message)
			}
		})
	}
}

// TestDiskGuardIsKeptDuringHandOver hands the disk guard to another engine. There is no condition
// before the first report, and it stays unchanged between the two engines.
func TestDiskGuardIsKeptDuringHandOver(t *testing.T) {
	in := healthy()
	said := func() string {
		s := Compute(in)
		in.Archiver.Status = &s
		for _, c := range s.Conditions {
			if c.Type == v1alpha1.ConditionDiskGuard {
				return c.Reason
			}
		}
		return ""
	}
	if got := said(); got != "" {
		t.Errorf("before the first report: got condition %s", got)
	}
	in.Fleet[1].Report.DiskGuard = &report.DiskGuard{Reason: "Dropping"}
	if got := said(); got != "Dropping" {
		t.Errorf("after the first report: got %q", got)
	}
	in.Fleet[1].Report.DiskGuard.Reason, in.Fleet[1].Dead = "NoLimit", true
	if got := said(); got != "Dropping" {
		t.Errorf("after the engine died: got %q", got)
	}
	in.Fleet[0].Report.DiskGuard = &report.DiskGuard{Reason: "BelowLimit"}
	if got := said(); got != "BelowLimit" {
		t.Errorf("after another engine took over: got %q", got)
	}
}

func TestEmbeddedArchiveIsReady(t *testing.T) {
	in := healthy()
	in.Archiver.Spec.Storage = v1alpha1.StorageSpec{Embedded: &v1alpha1.EmbeddedSpec{}}
	in.Retrieval, in.Schema = nil, nil
	s := Compute(in)
	if c := condition(t, s, v1alpha1.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Errorf("not ready: %v", c)
	}
	if c := condition(t, s, v1alpha1.ConditionStorageReady); c.Reason != v1alpha1.ReasonEmbedded || c.Status != metav1.ConditionTrue {
		t.Errorf("storage: %v", c)
	}
	if c := condition(t, s, v1alpha1.ConditionReconciling); c.Status != metav1.ConditionFalse {
		t.Errorf("reconciling: %v", c)
	}
}

// TestOperatorRestartKeepsStatus checks that the status does not change before the first reports.
func TestOperatorRestartKeepsStatus(t *testing.T) {
	in := healthy()
	before := Compute(in)
	in.Archiver.Status = &before
	in.Fleet[0].Report, in.Fleet[1].Report = nil, nil
	in.Synced = false
	in.Now = now.Add(time.Hour)
	if Changed(&before, Compute(in), time.Hour) {
		t.Errorf("before and after:\n%+v\n%+v", before, Compute(in))
	}
}

func TestTransitionTimeChangesWithStatus(t *testing.T) {
	in := healthy()
	first := Compute(in)
	in.Archiver.Status = &first
	in.Now = now.Add(time.Hour)
	in.Fleet[0].Dead = true
	second := Compute(in)
	if c := condition(t, second, v1alpha1.ConditionStorageReady); !c.LastTransitionTime.Time.Equal(now) {
		t.Errorf("the condition has not changed since %v, but its time is %v", now, c.LastTransitionTime)
	}
	if c := condition(t, second, v1alpha1.ConditionDegraded); !c.LastTransitionTime.Time.Equal(in.Now) {
		t.Errorf("the condition changed at %v, but its time is %v", in.Now, c.LastTransitionTime)
	}
}

// TestNumbersAreWrittenLaterThanTransitions checks which changes are written one second after
// the last status, and which changes are written one minute after it.
func TestNumbersAreWrittenLaterThanTransitions(t *testing.T) {
	old := Compute(healthy())
	for _, c := range []struct {
		name        string
		change      func(*Input)
		soon, later bool
	}{
		{"nothing", func(*Input) {}, false, false},
		{"noise", func(in *Input) { in.Fleet[0].Report = reporting(40, 1236) }, false, false},
		{"rate", func(in *Input) { in.Fleet[0].Report = reporting(40, 2000) }, false, true},
		{"connected", func(in *Input) { in.Fleet[0].Report = reporting(30, 1234.5) }, false, true},
		{"total", func(in *Input) { in.Shards[0].Spec.Channels = 60 }, true, true},
		{"engines", func(in *Input) { in.Engines.Status.ReadyReplicas = 1 }, true, true},
		{"moves begin", func(in *Input) { in.Moves = &v1alpha1.MovesStatus{Progress: "0/8", Total: 8} }, true, true},
		{"circuits", func(in *Input) { in.Fleet[0].Report.Circuits[0].Count = 5 }, false, true},
	} {
		in := healthy()
		c.change(&in)
		s := Compute(in)
		if soon, later := Changed(&old, s, time.Second), Changed(&old, s, time.Minute); soon != c.soon || later != c.later {
			t.Errorf("%s: written %v, later %v; want %v, %v", c.name, soon, later, c.soon, c.later)
		}
	}
	if !Changed(nil, old, 0) {
		t.Error("the first status is not written")
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	long := strings.Repeat("ü", 2000)
	if got := cut(long); len(got) > 1024+len(" …") || !strings.HasPrefix(long, strings.TrimSuffix(got, " …")) {
		t.Errorf("the message was cut to %d bytes", len(got))
	}
	if got := cut("short"); got != "short" {
		t.Error(got)
	}
}
