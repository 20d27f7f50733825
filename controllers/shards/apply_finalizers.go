package shards

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"varve.dev/varve/api/v1alpha1"
)

// guardGroups keeps groups with deletionPolicy Delete until engines have deleted
// their data.
func (r *Reconciler) guardGroups(ctx context.Context, in *observed, made *compiled) error {
	if made.withdrawn {
		return nil
	}
	pending := in.pendingDeletions(made)
	for i := range in.groups {
		g := &in.groups[i]
		guarded := controllerutil.ContainsFinalizer(g, v1alpha1.DataFinalizer)
		deletes := g.Spec.DeletionPolicy == v1alpha1.DeleteData
		deleted := g.DeletionTimestamp != nil
		var err error
		switch {
		case guarded && !deletes:
			err = r.guard(ctx, g, false)
		case !guarded && deletes && !deleted:
			err = r.guard(ctx, g, true)
		case guarded && deleted && !pending[groupName(g)]:
			if err = r.guard(ctx, g, false); err == nil {
				r.Recorder.Eventf(g, nil, corev1.EventTypeNormal, "DataDeleted", "Delete", "%s",
					fmt.Sprintf("The data of %d PVs is deleted", made.deleting(g)))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *compiled) deleting(g *v1alpha1.ArchiveGroup) int {
	if out := c.groups[groupName(g)]; out != nil {
		return out.Deleting
	}
	return 0
}

// pendingDeletions are the groups whose data is not deleted yet: some shard has
// deletions of theirs that are not in its spec, or that no engine answered. A
// shard that could not be compiled may have some of every group.
func (in *observed) pendingDeletions(made *compiled) map[string]bool {
	pending := map[string]bool{}
	for i := range made.shards {
		s := &made.shards[i]
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

// hasDeleted says whether an engine answered all deletions of a shard.
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

// releaseGroups lets groups go whose Archiver is gone: there is nobody left to
// delete their data, and an uninstall in this order must not hang.
func (r *Reconciler) releaseGroups(ctx context.Context, in *observed) error {
	for i := range in.groups {
		g := &in.groups[i]
		if !controllerutil.ContainsFinalizer(g, v1alpha1.DataFinalizer) {
			continue
		}
		if err := r.guard(ctx, g, false); err != nil {
			return err
		}
		if g.DeletionTimestamp != nil {
			r.Recorder.Eventf(g, nil, corev1.EventTypeWarning, "DataNotDeleted", "Delete", "%s",
				fmt.Sprintf("Archiver %s is gone, so the data of the group was not deleted", g.Spec.ArchiverRef.Name))
		}
	}
	return nil
}

// guard adds or removes the finalizer.
func (r *Reconciler) guard(ctx context.Context, g *v1alpha1.ArchiveGroup, on bool) error {
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
