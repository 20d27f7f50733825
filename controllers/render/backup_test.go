package render

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// TestBackupJobsHaveTheRightsOfTheArchive checks what the Jobs of a backup may use: the Secrets of the archive if they read or
// write it, and the volume with the backups.
func TestBackupJobsHaveTheRightsOfTheArchive(t *testing.T) {
	in := Input{Archiver: load(t, "testdata/everything.in.yaml"), Image: "varve:1"}
	b := &v1alpha1.ArchiveBackup{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("x", 46), UID: "4b1d"}, Spec: v1alpha1.ArchiveBackupSpec{
		Destination: v1alpha1.BackupDestination{PersistentVolumeClaim: &v1alpha1.BackupVolumeClaim{ClaimName: "backups", Path: "a/b"}},
	}}
	_, secrets := storage(in.Archiver)
	for _, verb := range []string{CreateBackup, VerifyBackup, DeleteBackup} {
		job := BackupJob(in, b, verb)
		if n := len(*job.Name); n > 63 {
			t.Errorf("%s has %d characters: the labels of its pods can have 63", *job.Name, n)
		}
		spec := job.Spec.Template.Spec
		want := 1
		if verb == CreateBackup {
			want += len(secrets)
		}
		if len(spec.Volumes) != want || *spec.Volumes[0].PersistentVolumeClaim.ClaimName != "backups" || *spec.AutomountServiceAccountToken {
			t.Errorf("%s: the volumes are %+v", verb, spec.Volumes)
		}
		if *spec.RestartPolicy != corev1.RestartPolicyNever || *spec.SecurityContext.RunAsUser != user {
			t.Errorf("%s: %+v", verb, spec)
		}
		if owner := job.OwnerReferences[0]; *owner.Controller != (verb != DeleteBackup) {
			t.Errorf("%s: the owner is %+v", verb, owner)
		}
		if got := strings.Join(spec.Containers[0].Args[:3], " "); got != "backup "+verb+" /backup/a/b" {
			t.Errorf("%s: %s", verb, got)
		}
	}
	b.UID = "other"
	if name := BackupName(b); name == b.Name || len(name) > 100 {
		t.Errorf("the name of the backup is %s", name)
	}
}
