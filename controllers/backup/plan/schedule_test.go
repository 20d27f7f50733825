package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// nightly is a schedule at 01:30 UTC that keeps two backups.
func nightly(change func(*v1alpha1.ArchiveBackupSchedule)) *v1alpha1.ArchiveBackupSchedule {
	s := &v1alpha1.ArchiveBackupSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "epics", Name: "nightly", Generation: 1, CreationTimestamp: metav1.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))},
		Spec: v1alpha1.ArchiveBackupScheduleSpec{Schedule: "30 1 * * *", Keep: new(int32(2)), Template: v1alpha1.BackupTemplate{
			ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Destination: destination("backups", ""), DeletionPolicy: v1alpha1.DeleteData,
		}},
	}
	if change != nil {
		change(s)
	}
	return s
}

func destination(claim, path string) v1alpha1.BackupDestination {
	return v1alpha1.BackupDestination{PersistentVolumeClaim: &v1alpha1.BackupVolumeClaim{ClaimName: claim, Path: path}}
}

// made is an ArchiveBackup of nightly for a day of November: "good", "failed", "damaged" or "runs".
func made(day int, how string) v1alpha1.ArchiveBackup {
	at := time.Date(2026, 11, day, 1, 30, 0, 0, time.UTC)
	b := *backupOf(nightly(nil), at)
	b.CreationTimestamp = metav1.NewTime(at)
	set := func(kind string, is metav1.ConditionStatus, reason string) {
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: kind, Status: is, Reason: reason, Message: how})
	}
	b.Status = &v1alpha1.ArchiveBackupStatus{StartTime: &metav1.Time{Time: at}}
	switch how {
	case "good", "damaged":
		b.Status.CompleteUntil = &metav1.Time{Time: at.Add(5 * time.Second)}
		set(v1alpha1.ConditionComplete, metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
		if b.Spec.Verify = how == "damaged"; b.Spec.Verify {
			set(v1alpha1.ConditionVerified, metav1.ConditionFalse, v1alpha1.ReasonBackupDamaged)
		}
	case "failed":
		set(v1alpha1.ConditionComplete, metav1.ConditionFalse, v1alpha1.ReasonFailed)
	case "runs":
		set(v1alpha1.ConditionComplete, metav1.ConditionFalse, v1alpha1.ReasonRunning)
	}
	return b
}

func all(backups ...v1alpha1.ArchiveBackup) []v1alpha1.ArchiveBackup { return backups }

func TestScheduleBeginsAndDeletesBackups(t *testing.T) {
	seen := func(last string) func(*v1alpha1.ArchiveBackupSchedule) {
		return func(s *v1alpha1.ArchiveBackupSchedule) {
			s.Status = &v1alpha1.ArchiveBackupScheduleStatus{ObservedGeneration: 1, Schedule: "30 1 * * * UTC", Since: &s.CreationTimestamp}
			if last != "" {
				s.Status.LastTime = &metav1.Time{Time: parseTime(t, last)}
			}
		}
	}
	for _, c := range []struct {
		name             string
		change           func(*v1alpha1.ArchiveBackupSchedule)
		backups          []v1alpha1.ArchiveBackup
		now              string
		create, skipped  string
		deletes          string
		scheduled        string // status and reason
		next, due        string
		failed           int32
		lastTime, stalls string
	}{
		{
			name: "new", now: "2026-11-20T12:00:01Z", scheduled: "True WaitingForTime", next: "2026-11-21T01:30:00Z", due: "2026-11-21T01:30:00Z",
		},
		{
			name: "due", change: seen("2026-11-24T01:30:00Z"), backups: all(made(24, "good")), now: "2026-11-25T01:30:00Z",
			create: "nightly-202611250130", scheduled: "True BackupRuns", next: "2026-11-26T01:30:00Z", due: "2026-11-25T01:30:00Z", lastTime: "2026-11-25T01:30:00Z",
		},
		{
			name: "the operator was away for days: one backup", change: seen("2026-11-21T01:30:00Z"), backups: all(made(21, "good")), now: "2026-11-25T09:00:00Z",
			create: "nightly-202611250130", scheduled: "True BackupRuns", next: "2026-11-26T01:30:00Z", due: "2026-11-22T01:30:00Z", lastTime: "2026-11-25T01:30:00Z",
		},
		{
			name: "the operator was away since the schedule was created", now: "2026-11-25T09:00:00Z",
			create: "nightly-202611250130", scheduled: "True BackupRuns", next: "2026-11-26T01:30:00Z", due: "2026-11-21T01:30:00Z", lastTime: "2026-11-25T01:30:00Z",
		},
		{
			name: "the former one runs", change: seen("2026-11-24T01:30:00Z"), backups: all(made(24, "runs")), now: "2026-11-25T01:30:00Z",
			skipped: "nightly-202611240130", scheduled: "True BackupRuns", next: "2026-11-26T01:30:00Z", due: "2026-11-21T01:30:00Z", lastTime: "2026-11-25T01:30:00Z",
		},
		{
			name: "suspended", change: func(s *v1alpha1.ArchiveBackupSchedule) { seen("2026-11-24T01:30:00Z")(s); s.Spec.Suspend = true },
			now: "2026-11-25T01:30:00Z", scheduled: "False Suspended", lastTime: "2026-11-24T01:30:00Z",
		},
		{
			name: "continues after it was suspended: what was missed is not made", change: func(s *v1alpha1.ArchiveBackupSchedule) {
				seen("2026-11-21T01:30:00Z")(s)
				s.Status.Schedule, s.Status.Since = "", nil
			},
			now: "2026-11-25T09:00:00Z", scheduled: "True WaitingForTime", next: "2026-11-26T01:30:00Z", due: "2026-11-26T01:30:00Z", lastTime: "2026-11-21T01:30:00Z",
		},
		{
			name: "another schedule: what it would have made before is not made", change: func(s *v1alpha1.ArchiveBackupSchedule) {
				seen("2026-11-24T01:30:00Z")(s)
				s.Spec.Schedule = "0 8 * * *"
			},
			now: "2026-11-25T09:00:00Z", scheduled: "True WaitingForTime", next: "2026-11-26T08:00:00Z", due: "2026-11-26T08:00:00Z", lastTime: "2026-11-24T01:30:00Z",
		},
		{
			name: "no meaning", change: func(s *v1alpha1.ArchiveBackupSchedule) { s.Spec.TimeZone = "Mars" },
			now: "2026-11-25T09:00:00Z", scheduled: "False InvalidSchedule", stalls: "there is no time zone",
		},
		{
			name: "keeps two", change: seen("2026-11-25T01:30:00Z"), backups: all(made(25, "good"), made(22, "good"), made(23, "good"), made(24, "good")),
			now: "2026-11-25T09:00:00Z", deletes: "[nightly-202611230130 nightly-202611220130]", scheduled: "True WaitingForTime",
			next: "2026-11-26T01:30:00Z", due: "2026-11-26T01:30:00Z", lastTime: "2026-11-25T01:30:00Z",
		},
		{
			name: "failed and damaged ones do not push out good ones", change: seen("2026-11-25T01:30:00Z"),
			backups: all(made(20, "failed"), made(21, "good"), made(22, "good"), made(23, "damaged"), made(24, "failed"), made(25, "failed")),
			now:     "2026-11-25T09:00:00Z", deletes: "[nightly-202611200130]", scheduled: "True WaitingForTime",
			next: "2026-11-26T01:30:00Z", due: "2026-11-23T01:30:00Z", failed: 3, lastTime: "2026-11-25T01:30:00Z",
		},
	} {
		in := ScheduleInput{Schedule: nightly(c.change), Backups: c.backups, Now: parseTime(t, c.now)}
		d := Schedule(in)
		created := ""
		if d.Create != nil {
			created = d.Create.Name
		}
		scheduled := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionScheduled)
		stalled := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionStalled)
		got := fmt.Sprintf("create %s, skipped %s, deletes %v, %s %s, failed %d", created, d.Skipped, d.Delete, scheduled.Status, scheduled.Reason, d.Status.Failed)
		want := fmt.Sprintf("create %s, skipped %s, deletes %s, %s, failed %d", c.create, c.skipped, "["+strings.Trim(c.deletes, "[]")+"]", c.scheduled, c.failed)
		if got != want {
			t.Errorf("%s: %s\nwant %s", c.name, got, want)
		}
		for what, times := range map[string][2]string{
			"next": {text(d.Status.NextTime), c.next}, "due": {text(at(d.Due)), c.due}, "last": {text(d.Status.LastTime), c.lastTime},
		} {
			if times[0] != times[1] {
				t.Errorf("%s: the %s time is %s, want %s", c.name, what, times[0], times[1])
			}
		}
		if (stalled.Status == metav1.ConditionTrue) != (c.stalls != "") || !strings.Contains(stalled.Message, c.stalls) {
			t.Errorf("%s: Stalled is %s: %s", c.name, stalled.Status, stalled.Message)
		}
		if d.Failed != (c.failed > 0) || d.Again > maxSleep {
			t.Errorf("%s: failed %v, again in %v", c.name, d.Failed, d.Again)
		}
		// The same again, after the status was written and the backup exists: nothing more happens.
		in.Schedule.Status = &d.Status
		if d.Create != nil {
			in.Backups = append(in.Backups, *d.Create)
		}
		if again := Schedule(in); again.Create != nil || again.Skipped != "" {
			t.Errorf("%s: a second pass creates %v, and skips because of %q", c.name, again.Create, again.Skipped)
		}
	}
}

func text(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func TestBackupOfSchedule(t *testing.T) {
	b := backupOf(nightly(nil), time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC))
	if b.Spec.DeletionPolicy != v1alpha1.DeleteData || b.Spec.Destination.PersistentVolumeClaim.ClaimName != "backups" || len(b.OwnerReferences) != 0 ||
		b.Labels[v1alpha1.LabelBackupSchedule] != "nightly" || len(strings.Repeat("x", 33)+"-202610250030") > 46 {
		t.Errorf("%+v", b)
	}
}
