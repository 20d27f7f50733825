package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "k8s.io/client-go/applyconfigurations/batch/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/backup/plan"
	jobs "varve.dev/varve/controllers/render"
)

// TestCommandsOfBackupJobs runs the commands of the operator's Jobs on a real archive, with other directories, and reads
// their results as the operator does.
func TestCommandsOfBackupJobs(t *testing.T) {
	archive, backups := newArchive(t, nil), t.TempDir()
	copied, result := filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "result")
	embedded := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Namespace: "epics", Name: "main", UID: "1"}}
	embedded.Spec.Shards, embedded.Spec.Storage.Embedded = 64, &v1alpha1.EmbeddedSpec{}
	place := v1alpha1.BackupDestination{PersistentVolumeClaim: &v1alpha1.BackupVolumeClaim{ClaimName: "backups"}}
	b := &v1alpha1.ArchiveBackup{ObjectMeta: metav1.ObjectMeta{Name: "before", UID: "2"}, Spec: v1alpha1.ArchiveBackupSpec{Destination: place}}
	r := &v1alpha1.ArchiveRestore{ObjectMeta: metav1.ObjectMeta{Name: "after", UID: "3"}, Spec: v1alpha1.ArchiveRestoreSpec{Source: place, BackupName: jobs.BackupName(b)}}
	in := jobs.Input{Archiver: embedded, Image: "varve:1"}
	data := archive
	run := func(job *batch.JobApplyConfiguration) (code int, out string, got plan.Result) {
		t.Helper()
		_ = os.Remove(result)
		var args []string
		for _, arg := range job.Spec.Template.Spec.Containers[0].Args {
			args = append(args, strings.NewReplacer("/var/lib/varve", data, jobs.BackupDir+"/", backups+"/", "/dev/termination-log", result).Replace(arg))
		}
		code, out = runVarve(t, args...)
		if text, err := os.ReadFile(result); err == nil {
			if err := json.Unmarshal(text, &got); err != nil {
				t.Error(err)
			}
		}
		return code, out, got
	}

	for range 2 { // a repeated Job succeeds
		code, out, got := run(jobs.BackupJob(in, b, jobs.CreateBackup))
		if code != 0 || got.PVs != 1 || got.Rows["block"] != 1 || got.Bytes == 0 || got.CompleteUntil == nil || got.End == nil || got.Source == "" {
			t.Fatalf("create: exit code %d: %s, %+v", code, out, got)
		}
	}
	if code, out, got := run(jobs.BackupJob(in, b, jobs.VerifyBackup)); code != 0 || got.End == nil {
		t.Errorf("verify: exit code %d: %s, %+v", code, out, got)
	}
	data = copied
	if code, out, got := run(jobs.RestoreJob(in, r)); code != 2 || !strings.Contains(out, "is of another archive: it is of directory "+archive) || !strings.Contains(got.Error, "allowOtherArchive: true") {
		t.Errorf("restore of another archive: exit code %d: %s, %+v", code, out, got)
	}
	if _, err := os.Stat(copied); err == nil {
		t.Error("the refused restore created the directory of the archive")
	}
	r.Spec.AllowOtherArchive = true
	if code, out, got := run(jobs.RestoreJob(in, r)); code != 0 || got.PVs != 1 || got.Already {
		t.Errorf("restore: exit code %d: %s, %+v", code, out, got)
	}
	if code, out := storeCheck(t, "--data", copied); code != 0 || !strings.Contains(out, "1 PVs, 1 blocks with 1 samples") {
		t.Errorf("the restored archive: exit code %d: %s", code, out)
	}
	for range 2 { // a repeated Job succeeds
		if code, out, _ := run(jobs.BackupJob(in, b, jobs.DeleteBackup)); code != 0 {
			t.Errorf("delete: exit code %d: %s", code, out)
		}
	}
	if code, out := runVarve(t, "backup", "list", filepath.Join(backups, "main")); code != 0 || strings.Contains(out, "before") {
		t.Errorf("the backup still exists: exit code %d: %s", code, out)
	}
	b.Spec.Destination.PersistentVolumeClaim = &v1alpha1.BackupVolumeClaim{ClaimName: "backups", Path: "never"}
	if code, out, _ := run(jobs.BackupJob(in, b, jobs.DeleteBackup)); code != 0 {
		t.Errorf("delete of a backup that never began: exit code %d: %s", code, out)
	}
}

// TestFlagsOfBackupJobsInCassandra checks that the commands know the flags of an archive in Cassandra, without one.
func TestFlagsOfBackupJobsInCassandra(t *testing.T) {
	a := &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Namespace: "epics", Name: "main"}}
	a.Spec.Shards = 64
	a.Spec.Storage.Cassandra = &v1alpha1.CassandraSpec{External: &v1alpha1.ExternalCassandra{
		ContactPoints: []string{"cass-1"}, Datacenter: "dc1", SecretRef: &v1alpha1.SecretReference{Name: "login"}, TLS: &v1alpha1.CassandraTLS{ServerName: "cass"},
	}}
	place := v1alpha1.BackupDestination{PersistentVolumeClaim: &v1alpha1.BackupVolumeClaim{ClaimName: "backups"}}
	in := jobs.Input{Archiver: a, Image: "varve:1"}
	b := &v1alpha1.ArchiveBackup{ObjectMeta: metav1.ObjectMeta{Name: "before"}, Spec: v1alpha1.ArchiveBackupSpec{Destination: place}}
	r := &v1alpha1.ArchiveRestore{ObjectMeta: metav1.ObjectMeta{Name: "after"}, Spec: v1alpha1.ArchiveRestoreSpec{Source: place, BackupName: "b"}}
	for _, job := range []*batch.JobApplyConfiguration{
		jobs.BackupJob(in, b, jobs.CreateBackup), jobs.BackupJob(in, b, jobs.VerifyBackup), jobs.BackupJob(in, b, jobs.DeleteBackup), jobs.RestoreJob(in, r),
	} {
		args := job.Spec.Template.Spec.Containers[0].Args
		cmd, rest, err := newRoot().Find(args)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil || slices.Contains([]string{"create", "restore"}, cmd.Name()) != slices.Contains(args, "--cassandra=cass-1") {
			t.Errorf("varve %s: %v", strings.Join(args, " "), err)
		}
	}
}
