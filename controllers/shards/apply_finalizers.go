package shards

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/compile"
)

// updateFinalizers keeps groups with deletionPolicy Delete until engines have deleted
// their data.
func (r *Reconciler) updateFinalizers(ctx context.Context, in *observed, compiled *compilation) error {
	if compiled.missingCRD != "" {
		return nil
	}
	pending := in.pendingDeletions(compiled)
	for i := range in.groups {
		g := &in.groups[i]
		guarded := controllerutil.ContainsFinalizer(g, v1alpha1.DataFinalizer)
		deletes := g.Spec.DeletionPolicy == v1alpha1.DeleteData
		deleted := g.DeletionTimestamp != nil
		var err error
		switch {
		case guarded && !deletes:
			err = r.setFinalizer(ctx, g, false)
		case !guarded && deletes && !deleted:
			err = r.setFinalizer(ctx, g, true)
		case guarded && deleted && !pending[groupName(g)]:
			if err = r.setFinalizer(ctx, g, false); err == nil {
				r.Recorder.Eventf(g, nil, corev1.EventTypeNormal, "DataDeleted", "Delete", "%s",
					compiled.describeDeletion(g))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// describeDeletion says what happened to the data of a deleted group.
func (c *compilation) describeDeletion(g *v1alpha1.ArchiveGroup) string {
	out := c.groups[groupName(g)]
	if out == nil {
		out = &compile.Group{}
	}
	text := fmt.Sprintf("The data of %d PVs was deleted", out.Deleting)
	if out.Kept > 0 {
		text += fmt.Sprintf("; the data of %d PVs stays, because no ArchivePolicy lets the group own them", out.Kept)
	}
	return text
}

// pendingDeletions returns the groups whose data is not deleted yet. Such a group has
// deletions in a shard that are not in the shard's spec yet, or that no engine has completed.
// A kept shard may have deletions of every group.
func (in *observed) pendingDeletions(compiled *compilation) map[string]bool {
	pending := map[string]bool{}
	for i := range compiled.shards {
		s := &compiled.shards[i]
		if s.kept {
			for j := range in.groups {
				pending[groupName(&in.groups[j])] = true
			}
			return pending
		}
		if len(s.deletions) > 0 && !in.hasDeleted(i, s.deletions) {
			for name := range s.deleting {
				pending[name] = true
			}
		}
	}
	return pending
}

// hasDeleted reports whether an engine has completed all deletions of a shard.
func (in *observed) hasDeleted(index int, deletions []string) bool {
	s := in.shards[index]
	if s == nil || s.Status == nil || len(s.Spec.Deletions) != len(deletions) {
		return false
	}
	for i, d := range s.Spec.Deletions {
		if d.Name != deletions[i] {
			return false
		}
	}
	for _, e := range s.Status.Engines {
		done := map[string]bool{}
		for _, name := range e.Deleted {
			done[name] = true
		}
		all := true
		for _, name := range deletions {
			all = all && done[name]
		}
		if all {
			return true
		}
	}
	return false
}

// releaseGroups removes the finalizer from the groups of an Archiver that no longer exists. No
// engine is left to delete their data, and an uninstall that deletes the Archiver first must
// not hang.
func (r *Reconciler) releaseGroups(ctx context.Context, in *observed) error {
	for i := range in.groups {
		g := &in.groups[i]
		if !controllerutil.ContainsFinalizer(g, v1alpha1.DataFinalizer) {
			continue
		}
		if err := r.setFinalizer(ctx, g, false); err != nil {
			return err
		}
		if g.DeletionTimestamp != nil {
			r.Recorder.Eventf(g, nil, corev1.EventTypeWarning, "DataNotDeleted", "Delete", "%s",
				fmt.Sprintf("Archiver %s no longer exists, so the data of the group was not deleted", g.Spec.ArchiverRef.Name))
		}
	}
	return nil
}

// setFinalizer adds or removes the finalizer of a group.
func (r *Reconciler) setFinalizer(ctx context.Context, g *v1alpha1.ArchiveGroup, on bool) error {
	next := g.DeepCopy()
	if on {
		controllerutil.AddFinalizer(next, v1alpha1.DataFinalizer)
	} else {
		controllerutil.RemoveFinalizer(next, v1alpha1.DataFinalizer)
	}
	err := r.Client.Patch(ctx, next, client.MergeFromWithOptions(g, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(v1alpha1.FieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the finalizer of group %s: %w", g.Name, err)
	}
	return nil
}
