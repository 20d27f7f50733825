package archiverstatus_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/backup/plan"
)

// TestHealthOfBackups checks what kstatus and Argo CD say about backups, schedules and restores.
func TestHealthOfBackups(t *testing.T) {
	now := time.Date(2026, 11, 27, 13, 0, 0, 0, time.UTC)
	end := &metav1.Time{Time: now}
	volume := v1alpha1.BackupDestination{PersistentVolumeClaim: &v1alpha1.BackupVolumeClaim{ClaimName: "backups"}}
	backup := func(j plan.Job) any {
		b := &v1alpha1.ArchiveBackup{ObjectMeta: metav1.ObjectMeta{Name: "b", Generation: 1}, Spec: v1alpha1.ArchiveBackupSpec{Destination: volume}}
		d := plan.Backup(plan.BackupInput{Backup: b, Create: j, Now: now})
		b.Status = &d.Status
		return b
	}
	schedule := func(suspend bool, zone string, generation int64) any {
		s := &v1alpha1.ArchiveBackupSchedule{ObjectMeta: metav1.ObjectMeta{Name: "s", Generation: 1, CreationTimestamp: *end}}
		s.Spec.Schedule, s.Spec.Suspend, s.Spec.TimeZone, s.Spec.Template.Destination = "30 1 * * *", suspend, zone, volume
		d := plan.Schedule(plan.ScheduleInput{Schedule: s, Now: now})
		s.Status, s.Generation = &d.Status, generation
		return s
	}
	restore := func(j plan.Job) any {
		r := &v1alpha1.ArchiveRestore{ObjectMeta: metav1.ObjectMeta{Name: "r", Generation: 1}, Spec: v1alpha1.ArchiveRestoreSpec{Source: volume}}
		d := plan.Restore(plan.RestoreInput{Restore: r, Job: j, Now: now})
		r.Status = &d.Status
		return r
	}
	damaged := plan.Job{State: plan.Problems, Result: &plan.Result{Damaged: 2}}
	for _, c := range []struct {
		state, kind string
		object      any
		kstatus     status.Status
		argo        string
	}{
		{"waits", v1alpha1.KindArchiveBackup, backup(plan.Job{}), status.InProgressStatus, "Progressing"},
		{"runs", v1alpha1.KindArchiveBackup, backup(plan.Job{State: plan.Running}), status.InProgressStatus, "Progressing"},
		{"is complete", v1alpha1.KindArchiveBackup, backup(plan.Job{State: plan.Succeeded}), status.CurrentStatus, "Healthy"},
		{"lacks damaged rows", v1alpha1.KindArchiveBackup, backup(damaged), status.CurrentStatus, "Degraded"},
		{"failed", v1alpha1.KindArchiveBackup, backup(plan.Job{State: plan.Failed}), status.FailedStatus, "Degraded"},
		{"waits for its time", v1alpha1.KindArchiveBackupSchedule, schedule(false, "", 1), status.CurrentStatus, "Healthy"},
		{"is suspended", v1alpha1.KindArchiveBackupSchedule, schedule(true, "", 1), status.CurrentStatus, "Suspended"},
		{"has no meaning", v1alpha1.KindArchiveBackupSchedule, schedule(false, "Mars", 1), status.FailedStatus, "Degraded"},
		{"was edited", v1alpha1.KindArchiveBackupSchedule, schedule(false, "", 2), status.InProgressStatus, "Progressing"},
		{"waits", v1alpha1.KindArchiveRestore, restore(plan.Job{}), status.InProgressStatus, "Progressing"},
		{"is restored", v1alpha1.KindArchiveRestore, restore(plan.Job{State: plan.Succeeded}), status.CurrentStatus, "Healthy"},
		{"failed", v1alpha1.KindArchiveRestore, restore(plan.Job{State: plan.Failed}), status.FailedStatus, "Degraded"},
	} {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.object)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: fields}
		u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(c.kind))
		if got, err := status.Compute(u); err != nil || got.Status != c.kstatus {
			t.Errorf("kstatus of an %s that %s: %v (%v), want %s", c.kind, c.state, got, err, c.kstatus)
		}
		if health, message := argoHealth(t, u); health != c.argo {
			t.Errorf("Argo CD about an %s that %s: %s (%s), want %s", c.kind, c.state, health, message, c.argo)
		}
	}
}
