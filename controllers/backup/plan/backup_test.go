package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

var now = time.Date(2026, 11, 27, 13, 0, 0, 0, time.UTC)

// archiverIn returns an Archiver whose tables exist.
func archiverIn(replicas int32, embedded bool) *v1alpha1.Archiver {
	a := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Namespace: "epics", Name: "main"}}
	a.Spec.Engines.Replicas = &replicas
	if embedded {
		a.Spec.Storage.Embedded = &v1alpha1.EmbeddedSpec{}
		return a
	}
	a.Status = &v1alpha1.ArchiverStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionStorageReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonConnected}}}
	return a
}

// withStorage sets the condition StorageReady.
func withStorage(a *v1alpha1.Archiver, is metav1.ConditionStatus, reason string) *v1alpha1.Archiver {
	a.Status.Conditions[0].Status, a.Status.Conditions[0].Reason, a.Status.Conditions[0].Message = is, reason, "because of it"
	return a
}

func none(string) string { return "" }

func busy(string) string { return "Job other-delete-1 uses the same folder" }

// told returns a Job that has ended with a result.
func told(state State, said string, r *Result) Job {
	return Job{State: state, Name: "b-create-1", Ended: now.Add(-time.Minute), Said: said, Result: r}
}

func TestBackupDecisions(t *testing.T) {
	until := now.Add(-time.Hour)
	whole := &Result{Source: "keyspace epics__main", End: &now, Rows: map[string]int64{"block": 9}, PVs: 3, Bytes: 3 << 30, CompleteUntil: &until}
	damaged := *whole
	damaged.Damaged, damaged.Problems = 2, []string{"block 7 of A"}
	created := []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded}}
	for _, c := range []struct {
		name           string
		in             BackupInput
		verify, delete bool // spec.verify; deletionPolicy Delete
		before         []metav1.Condition
		started        bool
		deleting       bool
		start          string
		discard        string
		guard          bool
		kept           string
		complete       string // status and reason
		verified       string
		message        string // part of a message
		stalled        bool
	}{
		{name: "no Archiver", complete: "False ArchiverNotFound", message: `there is no Archiver "main" in this namespace`},
		{name: "no tables", in: BackupInput{Archiver: withStorage(archiverIn(2, false), metav1.ConditionFalse, v1alpha1.ReasonWaitingForSchema)}, complete: "False WaitingForSchema", message: "because of it"},
		{name: "engines cannot write, but a backup may work", in: BackupInput{Archiver: withStorage(archiverIn(2, false), metav1.ConditionFalse, v1alpha1.ReasonAway)}, start: "create", complete: "False Running"},
		{name: "no engine has reported", in: BackupInput{Archiver: withStorage(archiverIn(0, false), metav1.ConditionUnknown, v1alpha1.ReasonWaitingForEngine)}, start: "create", complete: "False Running"},
		{name: "on a volume, with an engine", in: BackupInput{Archiver: archiverIn(1, true)}, complete: "False WaitingForNoEngines", message: "kubectl scale archiver main --replicas=0, or take a VolumeSnapshot of PersistentVolumeClaim main-data"},
		{name: "on a volume, with an engine that ends", in: BackupInput{Archiver: archiverIn(0, true), Engines: 1}, complete: "False WaitingForNoEngines", message: "1 engines of Archiver main have not ended yet"},
		{name: "on a volume", in: BackupInput{Archiver: archiverIn(0, true)}, start: "create", complete: "False Running"},
		{name: "another Job", in: BackupInput{Archiver: archiverIn(2, false), Conflict: busy}, complete: "False WaitingForJob", message: "Job other-delete-1 uses the same folder"},
		{name: "deletionPolicy Delete", in: BackupInput{Archiver: archiverIn(2, false)}, delete: true, start: "create", guard: true, complete: "False Running"},
		{name: "its pod waits", in: BackupInput{Archiver: archiverIn(2, false), Create: Job{State: Running, Name: "j", Waits: `persistentvolumeclaim "backups" not found`}}, complete: "False PodNotRunning", message: `the pod of Job j does not start: persistentvolumeclaim "backups" not found`},
		{name: "a try failed", in: BackupInput{Archiver: archiverIn(2, false), Create: Job{State: Running, Name: "j", Said: "no host is up"}}, complete: "False Retrying", message: "no host is up"},
		{name: "complete", in: BackupInput{Create: told(Succeeded, "", whole)}, complete: "True Succeeded"},
		{name: "complete, result unknown", in: BackupInput{Create: told(Succeeded, "", nil)}, complete: "True Succeeded", message: "its content is not known"},
		{name: "complete, damaged rows", in: BackupInput{Create: told(Problems, "x", &damaged)}, complete: "True RowsDamaged", message: "2 rows that the archive cannot return whole: run varve store check; block 7 of A"},
		{name: "failed", in: BackupInput{Create: told(Failed, "the disk is full", nil)}, complete: "False Failed", message: "the disk is full; correct the cause, and create another ArchiveBackup", stalled: true},
		{name: "failed before", in: BackupInput{Archiver: archiverIn(2, false)}, before: []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonFailed}}, complete: "False Failed"},
		{name: "complete before", in: BackupInput{Archiver: archiverIn(2, false)}, before: created, complete: "True Succeeded"},
		{name: "to be verified", in: BackupInput{Archiver: archiverIn(2, false), Create: told(Succeeded, "", whole)}, verify: true, start: "verify", complete: "True Succeeded", verified: "Unknown Running"},
		{name: "to be verified later", in: BackupInput{Archiver: archiverIn(2, false), Conflict: busy}, before: created, verify: true, complete: "True Succeeded", verified: "Unknown WaitingForJob"},
		{name: "whole", in: BackupInput{Archiver: archiverIn(2, false), Verify: told(Succeeded, "", whole)}, before: created, verify: true, complete: "True Succeeded", verified: "True Whole"},
		{name: "damaged", in: BackupInput{Verify: told(Problems, "backup b is damaged", &Result{Problems: []string{"packs/ab/abc.pack is missing"}})}, before: created, verify: true, complete: "True Succeeded", verified: "False BackupDamaged", message: "packs/ab/abc.pack is missing", stalled: true},
		{name: "not verified", in: BackupInput{Verify: told(Failed, "the disk fails", nil)}, before: created, verify: true, complete: "True Succeeded", verified: "Unknown VerificationFailed", message: "the disk fails", stalled: true},

		{name: "deleted, Retain", in: BackupInput{Archiver: archiverIn(2, false)}, deleting: true, started: true},
		{name: "deleted before it began", in: BackupInput{Archiver: archiverIn(2, false)}, delete: true, deleting: true},
		{name: "deleted without its Archiver", in: BackupInput{}, delete: true, deleting: true, started: true, kept: "Archiver main no longer exists"},
		{name: "deleted while it runs", in: BackupInput{Archiver: archiverIn(2, false), Create: Job{State: Running, Name: "c"}}, delete: true, deleting: true, started: true, guard: true, discard: "[c]", message: "after the Jobs of the backup have ended"},
		{name: "deleted", in: BackupInput{Archiver: archiverIn(2, false), Create: told(Succeeded, "", whole)}, delete: true, deleting: true, started: true, guard: true, start: "delete", message: "are being deleted"},
		{name: "deleted while another Job runs", in: BackupInput{Archiver: archiverIn(2, false), Conflict: busy}, delete: true, deleting: true, started: true, guard: true, message: "Job other-delete-1 uses the same folder"},
		{name: "deleted, without its volume", in: BackupInput{Archiver: archiverIn(2, false), Delete: Job{State: Running, Name: "d", Waits: "no volume"}}, delete: true, deleting: true, started: true, guard: true, message: "no volume"},
		{name: "files are deleted", in: BackupInput{Archiver: archiverIn(2, false), Delete: told(Succeeded, "", nil)}, delete: true, deleting: true, started: true},
		{name: "files cannot be deleted", in: BackupInput{Archiver: archiverIn(2, false), Delete: told(Failed, "read-only file system", nil)}, delete: true, deleting: true, started: true, guard: true, message: "read-only file system; correct the cause, or set spec.deletionPolicy to Retain", stalled: true},
		{name: "files could not be deleted, again", in: BackupInput{Archiver: archiverIn(2, false), Delete: Job{State: Failed, Name: "d", Ended: now.Add(-time.Hour)}}, delete: true, deleting: true, started: true, guard: true, discard: "[d]", stalled: true},
	} {
		b := &v1alpha1.ArchiveBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "epics", Name: "b", UID: "1", Generation: 3}, Spec: v1alpha1.ArchiveBackupSpec{
			ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Destination: destination("backups", ""), Verify: c.verify,
		}}
		if c.delete {
			b.Spec.DeletionPolicy = v1alpha1.DeleteData
		}
		if c.deleting {
			b.DeletionTimestamp, b.Finalizers = &metav1.Time{Time: now}, []string{v1alpha1.BackupFinalizer}
		}
		b.Status = &v1alpha1.ArchiveBackupStatus{Conditions: c.before}
		if c.started {
			b.Status.StartTime = &metav1.Time{Time: now.Add(-time.Hour)}
		}
		c.in.Backup, c.in.Now = b, now
		if c.in.Conflict == nil {
			c.in.Conflict = none
		}
		d := Backup(c.in)
		described, messages := describe(d.Status.Conditions)
		got := fmt.Sprintf("start %q, discard %v, guard %v, kept %q", d.Start, d.Discard, d.Guard, d.Kept)
		want := fmt.Sprintf("start %q, discard %s, guard %v, kept %q", c.start, "["+strings.Trim(c.discard, "[]")+"]", c.guard, c.kept)
		if got != want || described[v1alpha1.ConditionComplete] != c.complete || described[v1alpha1.ConditionVerified] != c.verified {
			t.Errorf("%s: %s, %v\nwant %s, Complete %q, Verified %q", c.name, got, described, want, c.complete, c.verified)
		}
		if !strings.Contains(messages, c.message) || strings.HasPrefix(described[v1alpha1.ConditionStalled], "True") != c.stalled || d.Status.ObservedGeneration != 3 {
			t.Errorf("%s: %v: %s\nwant %q", c.name, described, messages, c.message)
		}
		if c.deleting {
			continue
		}
		if c.in.Create.Result == whole && (*d.Status.PVs != 3 || d.Status.Blocks != 9 || d.Status.Size != "3.0 GiB" || !d.Status.CompleteUntil.Time.Equal(until)) {
			t.Errorf("%s: the status is %+v", c.name, d.Status)
		}
		b.Status = &d.Status
		c.in.Backup, c.in.Now = b, now.Add(time.Second)
		if d.Start == "" {
			if again := Backup(c.in); !equality.Semantic.DeepEqual(again.Status, d.Status) {
				t.Errorf("%s: the status changes with time: %+v, then %+v", c.name, d.Status, again.Status)
			}
		}
	}
}

// describe returns status and reason of each condition, and all messages.
func describe(list []metav1.Condition) (by map[string]string, messages string) {
	by = map[string]string{}
	for _, c := range list {
		by[c.Type] = string(c.Status) + " " + c.Reason
		messages += c.Message + "\n"
	}
	return by, messages
}

func TestRefusedJobs(t *testing.T) {
	b := &v1alpha1.ArchiveBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "epics", Name: "b"}, Spec: v1alpha1.ArchiveBackupSpec{
		ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Destination: destination("backups", ""), DeletionPolicy: v1alpha1.DeleteData,
	}}
	in := BackupInput{Backup: b, Archiver: archiverIn(2, false), Conflict: none, Now: now}
	d := RefusedBackup(in, Backup(in), "exceeded quota", false)
	if described, messages := describe(d.Status.Conditions); described[v1alpha1.ConditionComplete] != "False Refused" || !strings.Contains(messages, "exceeded quota") || d.Status.StartTime != nil {
		t.Errorf("%+v", d)
	}
	b.Status = &d.Status
	if d := Backup(in); d.Start != render.CreateBackup {
		t.Errorf("a refused Job is not tried again: %+v", d)
	}
	b.DeletionTimestamp, b.Finalizers = &metav1.Time{Time: now}, []string{v1alpha1.BackupFinalizer}
	b.Status.StartTime = &metav1.Time{Time: now}
	if d := RefusedBackup(in, Backup(in), "the namespace is being terminated", true); d.Guard || d.Kept == "" {
		t.Errorf("the finalizer stays although no Job can run: %+v", d)
	}
}

func TestJobsWaitForEachOther(t *testing.T) {
	job := func(verb, archiver, place string, done batchv1.JobConditionType) batchv1.Job {
		j := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{
			v1alpha1.LabelBackupVerb: verb, v1alpha1.LabelArchiver: archiver, v1alpha1.LabelBackupPlace: place,
		}}}
		if done != "" {
			j.Status.Conditions = []batchv1.JobCondition{{Type: done, Status: corev1.ConditionTrue}}
		}
		return j
	}
	for _, c := range []struct {
		verb, other, archiver, place string
		done                         batchv1.JobConditionType
		want                         string
	}{
		{"create", "create", "main", "p", "", "the same archive"},
		{"create", "create", "main", "p", batchv1.JobComplete, ""},
		{"create", "create", "main", "p", batchv1.JobFailed, ""},
		{"create", "create", "main", "q", "", "the same archive"},
		{"create", "create", "test", "p", "", ""},
		{"create", "verify", "main", "p", "", ""},
		{"create", "delete", "main", "p", "", "the same folder"},
		{"create", "delete", "test", "p", "", "the same folder"},
		{"create", "delete", "main", "q", "", ""},
		{"create", "restore", "main", "q", "", "the same archive"},
		{"verify", "create", "main", "p", "", ""},
		{"verify", "delete", "main", "p", "", "the same folder"},
		{"delete", "create", "test", "p", "", "the same folder"},
		{"delete", "verify", "main", "p", "", "the same folder"},
		{"delete", "restore", "test", "p", "", "the same folder"},
		{"delete", "create", "main", "q", "", ""},
		{"restore", "restore", "main", "q", "", "the same archive"},
		{"restore", "create", "main", "q", "", "the same archive"},
		{"restore", "create", "test", "p", "", ""},
		{"restore", "delete", "test", "p", "", "the same folder"},
	} {
		got := Conflict(Use{c.verb, "main", "p"}, []batchv1.Job{job(c.other, c.archiver, c.place, c.done)})
		if (got == "") != (c.want == "") || !strings.HasSuffix(got, c.want) {
			t.Errorf("%s, while %s of %s in %s %s: %q, want %q", c.verb, c.other, c.archiver, c.place, c.done, got, c.want)
		}
	}
}

func TestObserveJob(t *testing.T) {
	job := func(done batchv1.JobConditionType, ago time.Duration) *batchv1.Job {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}}
		if done != "" {
			j.Status.Conditions = []batchv1.JobCondition{{Type: done, Status: corev1.ConditionTrue, Message: "Job has reached the specified backoff limit", LastTransitionTime: metav1.NewTime(now.Add(-ago))}}
		}
		return j
	}
	end := func(code int32, ago time.Duration, message string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{batchv1.JobNameLabel: "j"}}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message, FinishedAt: metav1.NewTime(now.Add(-ago))}},
		}}}}
	}
	result := `{"name":"b","end":"2026-11-27T12:00:00Z","pvs":3}` + "\n"
	for _, c := range []struct {
		name        string
		job         *batchv1.Job
		pods        []corev1.Pod
		state       State
		said, waits string
		pvs         int64
	}{
		{name: "begins", job: job("", 0), state: Running},
		{name: "a pod failed", job: job("", 0), pods: []corev1.Pod{end(2, time.Minute, `{"error":"no host is up"}`)}, state: Running, said: "no host is up"},
		{name: "complete", job: job(batchv1.JobComplete, 0), pods: []corev1.Pod{end(0, time.Second, result), end(2, time.Minute, `{"error":"no host is up"}`)}, state: Succeeded, pvs: 3},
		{name: "complete, the pod is not known yet", job: job(batchv1.JobComplete, time.Second), pods: []corev1.Pod{end(2, time.Minute, "x")}, state: Running, said: "x"},
		{name: "complete, the pod is gone", job: job(batchv1.JobComplete, time.Minute), state: Succeeded},
		{name: "problems", job: job(batchv1.JobFailed, 0), pods: []corev1.Pod{end(1, time.Second, result)}, state: Problems, said: "the program ended with exit code 1; see the log of Job j", pvs: 3},
		{name: "exit code 1 without a backup", job: job(batchv1.JobFailed, 0), pods: []corev1.Pod{end(1, time.Second, "varve: unknown flag --name")}, state: Failed, said: "varve: unknown flag --name"},
		{name: "failed", job: job(batchv1.JobFailed, 0), pods: []corev1.Pod{end(2, time.Minute, `{"error":"first"}`), end(2, time.Second, `{"error":"last"}`)}, state: Failed, said: "last"},
		{name: "a log instead of a result", job: job(batchv1.JobFailed, 0), pods: []corev1.Pod{end(2, 0, "line\nvarve: cannot write\n")}, state: Failed, said: "varve: cannot write"},
		{name: "half a result", job: job(batchv1.JobFailed, 0), pods: []corev1.Pod{end(2, 0, `{"error":"no ho`)}, state: Failed, said: `{"error":"no ho`},
		{name: "failed, the pod is gone", job: job(batchv1.JobFailed, time.Hour), state: Failed, said: "Job has reached the specified backoff limit"},
		{name: "a long text", job: job(batchv1.JobFailed, 0), pods: []corev1.Pod{end(2, 0, strings.Repeat("ä", 4000))}, state: Failed, said: strings.Repeat("ä", 500) + "…"},
		{name: "pods of another Job", job: job("", 0), pods: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{batchv1.JobNameLabel: "k"}}, Status: end(2, 0, "x").Status}}, state: Running},
	} {
		got := ObserveJob(c.job, c.pods, now)
		pvs := int64(0)
		if got.Result != nil {
			pvs = got.Result.PVs
		}
		if got.State != c.state || got.Said != c.said || got.Waits != c.waits || pvs != c.pvs {
			t.Errorf("%s: %+v with %d PVs", c.name, got, pvs)
		}
	}
	killed := end(137, 0, "")
	killed.Status.ContainerStatuses[0].State.Terminated.Reason = "OOMKilled"
	if got := ObserveJob(job(batchv1.JobFailed, 0), []corev1.Pod{killed}, now); got.Said != "the program used more memory than its limit" {
		t.Errorf("%+v", got)
	}
	pending := corev1.Pod{ObjectMeta: killed.ObjectMeta, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: `persistentvolumeclaim "backups" not found`,
	}}}}
	if got := ObserveJob(job("", 0), []corev1.Pod{pending}, now); got.Waits != `persistentvolumeclaim "backups" not found` {
		t.Errorf("%+v", got)
	}
	pulled := corev1.Pod{ObjectMeta: killed.ObjectMeta, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Image: "varve:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
	}}}}
	if got := ObserveJob(job("", 0), []corev1.Pod{pulled}, now); got.Waits != "the image varve:1 cannot be pulled" {
		t.Errorf("%+v", got)
	}
}

func TestConditionsKeepTheirTime(t *testing.T) {
	c := conditionsOf(nil, 1, now)
	c.settle()
	first := meta.FindStatusCondition(c.list, v1alpha1.ConditionStalled).LastTransitionTime
	c.now = now.Add(time.Hour)
	c.settle()
	if got := meta.FindStatusCondition(c.list, v1alpha1.ConditionStalled).LastTransitionTime; got != first {
		t.Errorf("the condition changed at %v", got)
	}
}
