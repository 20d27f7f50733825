package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

func restoreNamed(name, archiver string, age time.Duration, complete string) v1alpha1.ArchiveRestore {
	r := v1alpha1.ArchiveRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: "epics", Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age))},
		Spec: v1alpha1.ArchiveRestoreSpec{
			ArchiverRef: v1alpha1.ArchiverReference{Name: archiver}, Source: destination("backups", ""), BackupName: "b-1", Into: v1alpha1.IntoEmpty,
		},
	}
	if complete != "" {
		status, reason, _ := strings.Cut(complete, " ")
		r.Status = &v1alpha1.ArchiveRestoreStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionStatus(status), Reason: reason}}}
	}
	return r
}

func TestRestoreDecisions(t *testing.T) {
	begun := restoreNamed("younger", "main", time.Second, "False Running")
	begun.Status.StartTime = &metav1.Time{Time: now}
	leaving := restoreNamed("leaving", "main", time.Hour, "False Running")
	leaving.DeletionTimestamp = &metav1.Time{Time: now}
	result := &Result{PVs: 3, Expired: 4, Source: "keyspace epics__main"}
	for _, c := range []struct {
		name           string
		in             RestoreInput
		before         string
		start, discard bool
		complete       string
		message        string
		stalled        bool
	}{
		{name: "no Archiver", complete: "False ArchiverNotFound"},
		{name: "engines", in: RestoreInput{Archiver: archiverIn(3, false), Engines: 3}, complete: "False WaitingForNoEngines", message: "run kubectl scale archiver main --replicas=0"},
		{name: "engines that end", in: RestoreInput{Archiver: archiverIn(0, false), Engines: 2}, complete: "False WaitingForNoEngines", message: "2 engines of Archiver main have not ended yet"},
		{name: "no tables", in: RestoreInput{Archiver: withStorage(archiverIn(0, false), metav1.ConditionFalse, v1alpha1.ReasonWaitingForSchema)}, complete: "False WaitingForSchema"},
		{name: "may begin", in: RestoreInput{Archiver: archiverIn(0, false)}, start: true, complete: "False Running"},
		{name: "on a volume", in: RestoreInput{Archiver: archiverIn(0, true)}, start: true, complete: "False Running"},
		{name: "another Job", in: RestoreInput{Archiver: archiverIn(0, false), Conflict: busy}, complete: "False WaitingForJob"},
		{name: "an older restore", in: RestoreInput{Archiver: archiverIn(0, false), Others: []v1alpha1.ArchiveRestore{restoreNamed("older", "main", time.Hour, "")}}, complete: "False AnotherRestore", message: "ArchiveRestore older restores a backup into the same archive: delete one of the two"},
		{name: "a younger restore", in: RestoreInput{Archiver: archiverIn(0, false), Others: []v1alpha1.ArchiveRestore{restoreNamed("younger", "main", time.Second, "")}}, start: true, complete: "False Running"},
		{name: "a younger restore that has begun", in: RestoreInput{Archiver: archiverIn(0, false), Others: []v1alpha1.ArchiveRestore{begun}}, complete: "False AnotherRestore"},
		{name: "older restores that have ended", in: RestoreInput{Archiver: archiverIn(0, false), Others: []v1alpha1.ArchiveRestore{
			restoreNamed("a", "main", time.Hour, "True Succeeded"), restoreNamed("b", "main", time.Hour, "False Failed"), leaving,
		}}, start: true, complete: "False Running"},
		{name: "another archive", in: RestoreInput{Archiver: archiverIn(0, false), Others: []v1alpha1.ArchiveRestore{restoreNamed("older", "test", time.Hour, "")}}, start: true, complete: "False Running"},
		{name: "runs", in: RestoreInput{Archiver: archiverIn(0, false), Job: Job{State: Running, Name: "j"}}, complete: "False Running"},
		{name: "engines were started", in: RestoreInput{Archiver: archiverIn(3, false), Engines: 1, Job: Job{State: Running, Name: "j"}}, discard: true, complete: "False EnginesStarted", message: "make the archive empty again", stalled: true},
		{name: "restored", in: RestoreInput{Archiver: archiverIn(0, false), Job: told(Succeeded, "", result)}, complete: "True Succeeded", message: "start its engines before 2026-11-28T12:59:00Z"},
		{name: "restored, and engines run", in: RestoreInput{Archiver: archiverIn(3, false), Engines: 3, Job: told(Succeeded, "", result)}, complete: "True Succeeded"},
		{name: "restored on a volume", in: RestoreInput{Archiver: archiverIn(0, true), Job: told(Succeeded, "", result)}, complete: "True Succeeded", message: "start its engines: kubectl scale"},
		{name: "restored before", in: RestoreInput{Archiver: archiverIn(0, false), Job: told(Succeeded, "", &Result{Already: true})}, complete: "True Succeeded", message: "nothing was written"},
		{name: "failed", in: RestoreInput{Archiver: archiverIn(0, false), Job: told(Failed, "the archive is not empty", nil)}, complete: "False Failed", message: "the archive is not empty; correct the cause, and create another ArchiveRestore", stalled: true},
		{name: "ended", before: "False Failed", in: RestoreInput{Archiver: archiverIn(0, false)}, complete: "False Failed"},
	} {
		r := restoreNamed("r", "main", time.Minute, c.before)
		c.in.Restore, c.in.Now = &r, now
		if c.in.Conflict == nil {
			c.in.Conflict = none
		}
		d := Restore(c.in)
		described, messages := describe(d.Status.Conditions)
		if d.Start != c.start || d.Discard != c.discard || described[v1alpha1.ConditionComplete] != c.complete || !strings.Contains(messages, c.message) {
			t.Errorf("%s: start %v, discard %v, %v: %s\nwant start %v, discard %v, Complete %s: %s", c.name, d.Start, d.Discard, described, messages, c.start, c.discard, c.complete, c.message)
		}
		if strings.HasPrefix(described[v1alpha1.ConditionStalled], "True") != c.stalled {
			t.Errorf("%s: %v", c.name, described)
		}
		if c.in.Job.Result == result && (*d.Status.PVs != 3 || d.Status.ExpiredRows != 4) {
			t.Errorf("%s: the status is %+v", c.name, d.Status)
		}
	}
}

func TestRefusedRestoreIsTriedAgain(t *testing.T) {
	r := restoreNamed("r", "main", time.Minute, "")
	in := RestoreInput{Restore: &r, Archiver: archiverIn(0, false), Conflict: none, Now: now}
	d := RefusedRestore(in, Restore(in), "exceeded quota")
	if described, messages := describe(d.Status.Conditions); described[v1alpha1.ConditionComplete] != "False Refused" || !strings.Contains(messages, "exceeded quota") {
		t.Errorf("%+v", d)
	}
	r.Status = &d.Status
	if d := Restore(in); !d.Start {
		t.Errorf("%+v", d)
	}
}
