package archiverstatus

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/engine/store"
)

// upgraded returns an archive of format level 5 whose pods know level 6 and have worked for an hour. The operator finalizes
// it at once.
func upgraded() Input {
	in := healthy()
	in.Archiver.Spec.Upgrade = &v1alpha1.UpgradeSpec{Finalize: v1alpha1.FinalizeAutomatic, FinalizeAfter: "0s"}
	in.Archiver.Status = &v1alpha1.ArchiverStatus{Format: &v1alpha1.FormatStatus{
		Level: 5, Latest: 6, WorkingSince: &metav1.Time{Time: now.Add(-time.Hour)},
	}}
	in.Engines.Annotations[AnnotationTemplate], in.Retrieval.Annotations[AnnotationTemplate] = "t1", "t1"
	for i := range in.Fleet {
		in.Fleet[i].Report.Format = &report.Format{Archive: 5, Latest: 6}
	}
	for i := range in.Pods {
		in.Pods[i] = running(in.Pods[i], "registry.example.org/varve@sha256:new")
	}
	for _, name := range []string{"r1", "r2"} {
		p := readyPod(name)
		p.Labels[v1alpha1.LabelComponent] = v1alpha1.ComponentRetrieval
		in.Pods = append(in.Pods, running(p, "registry.example.org/varve@sha256:new"))
	}
	return in
}

func running(p corev1.Pod, image string) corev1.Pod {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: p.Labels[v1alpha1.LabelComponent], ImageID: image, Ready: true}}
	return p
}

// TestAnUpgradeIsFinalizedOnlyWhenEveryPodWorks checks in which states the Job runs, and what users read otherwise.
func TestAnUpgradeIsFinalizedOnlyWhenEveryPodWorks(t *testing.T) {
	for _, c := range []struct {
		state   string
		happens func(*Input)
		to      int32
		reason  string
		says    string
	}{
		{"every pod works", func(*Input) {}, 6, v1alpha1.ReasonFinalizing, "from format level 5 to 6"},
		{"the archive is finalized", func(in *Input) { in.Fleet[1].Report.Format.Archive = 6 }, 0, v1alpha1.ReasonUpToDate, "has format level 6: releases that do not know this level refuse it"},
		{"Manual", func(in *Input) { in.Archiver.Spec.Upgrade.Finalize = v1alpha1.FinalizeManual }, 0, v1alpha1.ReasonCanBeFinalized, "you can go back"},
		{"nothing is set", func(in *Input) { in.Archiver.Spec.Upgrade = nil }, 0, v1alpha1.ReasonCanBeFinalized, "set spec.upgrade.finalize to Automatic, or run varve store finalize"},
		{"not after the default of 7 days", func(in *Input) { in.Archiver.Spec.Upgrade.FinalizeAfter = "" }, 0, v1alpha1.ReasonScheduled, "until 2026-03-11T04:06:07Z"},
		{"after the default of 7 days", func(in *Input) {
			in.Archiver.Spec.Upgrade.FinalizeAfter = ""
			in.Now = in.Now.Add(7 * 24 * time.Hour)
		}, 6, v1alpha1.ReasonFinalizing, ""},
		{"the pods have just begun to work", func(in *Input) {
			in.Archiver.Spec.Upgrade.FinalizeAfter, in.Archiver.Status.Format.WorkingSince = "1h", nil
		}, 0, v1alpha1.ReasonScheduled, "until 2026-03-04T06:06:07Z"},
		{"another level was the latest before", func(in *Input) {
			in.Archiver.Spec.Upgrade.FinalizeAfter, in.Archiver.Status.Format.Latest = "30m", 5
		}, 0, v1alpha1.ReasonScheduled, "until 2026-03-04T05:36:07Z"},
		{"the Job fails", func(in *Input) {
			in.Pods = append(in.Pods, pod(v1alpha1.ComponentFinalize, "f", ended(waiting("CrashLoopBackOff", ""), "Error", "varve: no MODIFY")))
		}, 6, v1alpha1.ReasonFinalizeFailed, "fails and is retried: varve: no MODIFY"},

		{"paused", func(in *Input) { in.Archiver.Spec.Paused = true }, 0, v1alpha1.ReasonWaitingForPods, "spec.paused is true"},
		{"retrieval pods wait", func(in *Input) { in.Step = StepRetrieval }, 0, v1alpha1.ReasonWaitingForPods, "being replaced"},
		{"the schema Job runs", func(in *Input) { in.Schema.Status.Conditions = nil }, 0, v1alpha1.ReasonWaitingForPods, "being replaced"},
		{"engines are being replaced", func(in *Input) { in.Engines.Status.UpdatedReplicas = 1 }, 0, v1alpha1.ReasonWaitingForPods, "not all engines and retrieval pods"},
		{"the engines have another template", func(in *Input) { in.Templates["main-engine"] = "t2" }, 0, v1alpha1.ReasonWaitingForPods, "not all engines"},
		{"the retrieval pods never worked", func(in *Input) { in.Retrieval.Annotations[AnnotationWorked] = "partly" }, 0, v1alpha1.ReasonWaitingForPods, "not all engines"},
		{"a retrieval pod is not ready", func(in *Input) { in.Retrieval.Status.ReadyReplicas = 1 }, 0, v1alpha1.ReasonWaitingForPods, "not all engines"},
		{"an engine is of release 0.1.0", func(in *Input) { in.Fleet[0].Report.Format = nil }, 0, v1alpha1.ReasonUpToDate, "has format level 5"},
		{"an engine does not report", func(in *Input) { in.Fleet[0].Report = nil }, 0, v1alpha1.ReasonWaitingForPods, "engine a does not report"},
		{"an old engine is still ending", func(in *Input) {
			in.Fleet = append(in.Fleet, in.Fleet[0])
			in.Fleet[2].Name, in.Fleet[2].Deleting, in.Fleet[2].Report = "c", true, nil
		}, 0, v1alpha1.ReasonWaitingForPods, "engine c is ending"},
		{"an engine cannot write", func(in *Input) { in.Fleet[0].Report.Storage = "StorageAway" }, 0, v1alpha1.ReasonWaitingForPods, "cannot write"},
		{"a pod of an engine is not known yet", func(in *Input) { in.Fleet = in.Fleet[:1] }, 0, v1alpha1.ReasonWaitingForPods, "1 of 2 engines"},
		{"no engine runs", func(in *Input) {
			in.Fleet, *in.Engines.Spec.Replicas = nil, 0
			in.Engines.Status.Replicas, in.Engines.Status.ReadyReplicas, in.Engines.Status.UpdatedReplicas = 0, 0, 0
			in.Retrieval.Status = in.Engines.Status
		}, 0, v1alpha1.ReasonWaitingForPods, "no engine runs"},
		{"a retrieval pod has an older image of the same name", func(in *Input) {
			in.Pods[3] = running(in.Pods[3], "registry.example.org/varve@sha256:old")
		}, 0, v1alpha1.ReasonWaitingForPods, "retrieval pod r2 does not run the same image"},
		{"a retrieval pod is still ending", func(in *Input) { in.Pods[2].DeletionTimestamp = &metav1.Time{Time: now} }, 0, v1alpha1.ReasonWaitingForPods, "retrieval pod r1 is ending"},
		{"an evicted retrieval pod does not count", func(in *Input) {
			in.Pods[2].Status = corev1.PodStatus{Phase: corev1.PodFailed}
		}, 6, v1alpha1.ReasonFinalizing, ""},
		{"the archive is on a volume", func(in *Input) {
			in.Archiver.Spec.Storage, in.Archiver.Spec.Upgrade = v1alpha1.StorageSpec{Embedded: &v1alpha1.EmbeddedSpec{}}, nil
		}, 0, v1alpha1.ReasonCanBeFinalized, "stop the engine and run varve store finalize --data"},
	} {
		t.Run(c.state, func(t *testing.T) {
			in := upgraded()
			c.happens(&in)
			f := Finalize(&in)
			if f.To != c.to || f.condition == nil || f.condition.Reason != c.reason || !strings.Contains(f.condition.Message, c.says) {
				t.Errorf("level %d, condition %+v; want level %d, %s: %s", f.To, f.condition, c.to, c.reason, c.says)
			}
			if (f.condition.Status == metav1.ConditionTrue) != (c.reason == v1alpha1.ReasonUpToDate) {
				t.Errorf("the condition is %v", f.condition)
			}
			in.Finalization = f
			if failed := condition(t, Compute(in), v1alpha1.ConditionDegraded).Reason == v1alpha1.ReasonFinalizeFailed; failed != (c.reason == v1alpha1.ReasonFinalizeFailed) {
				t.Errorf("Degraded has FinalizeFailed: %t", failed)
			}
		})
	}
}

// TestRestartsOfPodsDoNotProlongTheWait checks that the time during which one can go back begins once, and again after one
// has gone back.
func TestRestartsOfPodsDoNotProlongTheWait(t *testing.T) {
	in := upgraded()
	since := in.Archiver.Status.Format.WorkingSince.Time
	next := func(change func()) {
		change()
		f := Finalize(&in)
		in.Archiver.Status.Format, in.Now = f.Format, in.Now.Add(time.Minute)
	}
	for _, change := range []func(){
		func() { in.Fleet[0].Report = nil },
		func() { in.Retrieval.Status.ReadyReplicas = 1 },
		func() { in.Fleet[1].Report = nil }, // no engine reports
		func() { in.Synced = false },
	} {
		if next(change); in.Archiver.Status.Format == nil || !in.Archiver.Status.Format.WorkingSince.Equal(&metav1.Time{Time: since}) {
			t.Fatalf("the status is %+v, want the same time as before", in.Archiver.Status.Format)
		}
	}
	in.Synced = true
	next(func() {
		for i := range in.Fleet {
			in.Fleet[i].Report = &report.Report{} // of release 0.1.0
		}
		in.Fleet[0].Report.Format = &report.Format{Archive: 5, Latest: 6}
	})
	if f := in.Archiver.Status.Format; f.Level != 5 || f.Latest != 5 || f.WorkingSince != nil {
		t.Errorf("after going back, the status is %+v", f)
	}
}

// TestAnOperatorThatIsTooOldKeepsTheEngineOfAVolume checks that the engine is not replaced by one that refuses the archive.
func TestAnOperatorThatIsTooOldKeepsTheEngineOfAVolume(t *testing.T) {
	in := upgraded()
	in.Archiver.Spec.Storage = v1alpha1.StorageSpec{Embedded: &v1alpha1.EmbeddedSpec{}}
	if OperatorTooOld(in.Archiver) {
		t.Error("an operator that knows the level is too old")
	}
	in.Archiver.Status.Format.Level = int32(store.LatestFormat) + 1
	if !OperatorTooOld(in.Archiver) {
		t.Fatal("the operator is not too old")
	}
	in.Step = StepFormat
	s := Compute(in)
	for kind, status := range map[string]metav1.ConditionStatus{
		v1alpha1.ConditionDegraded: metav1.ConditionTrue, v1alpha1.ConditionStalled: metav1.ConditionTrue, v1alpha1.ConditionReconciling: metav1.ConditionFalse,
	} {
		if c := condition(t, s, kind); c.Status != status || !strings.Contains(c.Message, "the archive has format level 7, and the image of this operator knows level 6 at most") {
			t.Errorf("%s: %+v", kind, c)
		}
	}
	in.Archiver.Spec.Image = "varve:later"
	if OperatorTooOld(in.Archiver) {
		t.Error("the operator does not know the levels of an image that the user chose")
	}
}
