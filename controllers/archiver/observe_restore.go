package archiver

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// restoring returns the name of the ArchiveRestore whose Job restores a backup into the archive, or "". Engines must not run
// meanwhile, because they would write to an archive that is not complete.
func restoring(ctx context.Context, from client.Client, a *v1alpha1.Archiver) (string, error) {
	var jobs batchv1.JobList
	err := from.List(ctx, &jobs, client.InNamespace(a.Namespace), client.UnsafeDisableDeepCopy, client.MatchingLabels{
		v1alpha1.LabelArchiver: a.Name, v1alpha1.LabelBackupVerb: render.RestoreBackup,
	})
	if err != nil {
		return "", fmt.Errorf("listing Jobs of ArchiveRestores: %w", err)
	}
	for i := range jobs.Items {
		if j := &jobs.Items[i]; j.DeletionTimestamp == nil && !hasEnded(j) {
			return j.Labels[v1alpha1.LabelRestore], nil
		}
	}
	return "", nil
}

func hasEnded(j *batchv1.Job) bool {
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return true
		}
	}
	return false
}
