package shards

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
)

// listGrace is how long a channel list stays after the last shard has stopped naming it. An
// engine that has an older version of the shard may still have to read the list.
const listGrace = time.Minute

// prune deletes stray shards, old answers and unused lists. It returns the time until the next
// list may be deleted, or zero if no list is unused.
func (r *Reconciler) prune(ctx context.Context, in *observed, compiled *compilation, known *memory) (time.Duration, error) {
	for _, s := range in.stray {
		if err := r.Client.Delete(ctx, s.DeepCopy()); client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("deleting shard %s: %w", s.Name, err)
		}
	}
	for i := range compiled.shards {
		if s := in.shards[i]; s != nil {
			if err := r.pruneAnswers(ctx, s); err != nil {
				return 0, err
			}
		}
	}
	return r.pruneLists(ctx, in, compiled, known)
}

// pruneLists deletes lists that no shard has named for listGrace.
func (r *Reconciler) pruneLists(ctx context.Context, in *observed, compiled *compilation, known *memory) (wait time.Duration, err error) {
	used := map[string]bool{}
	for i := range compiled.shards {
		for _, name := range slices.Concat(compiled.shards[i].captured(), compiled.shards[i].deletions) {
			used[name] = true
		}
		for _, f := range compiled.shards[i].former {
			used[f.Name] = true
		}
		for j := range compiled.shards[i].erasures {
			for _, name := range compiled.shards[i].erasures[j].Lists {
				used[name] = true
			}
		}
	}
	for _, name := range compiled.deletionLists() {
		used[name] = true
	}
	now := time.Now()
	unusedSince := map[string]time.Time{}
	for name, list := range in.lists {
		if used[name] {
			continue
		}
		since, ok := known.unusedSince[name]
		if !ok {
			since = now
		}
		if left := listGrace - now.Sub(since); left > 0 {
			unusedSince[name] = since
			wait = shortest(wait, left)
			continue
		}
		if err := r.Client.Delete(ctx, list.DeepCopy()); client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("deleting channel list %s: %w", name, err)
		}
	}
	known.unusedSince = unusedSince
	return wait, nil
}

// pruneAnswers deletes the answers of engines that the spec of a shard no longer names. The
// number of answers is limited, and an old answer would seem current if the engine got the
// shard again.
func (r *Reconciler) pruneAnswers(ctx context.Context, s *v1alpha1.ArchiveShard) error {
	old := func(answer v1alpha1.ShardEngineStatus) bool {
		return !slices.ContainsFunc(s.Spec.Engines, func(e v1alpha1.ShardEngine) bool { return e.Name == answer.Name })
	}
	if s.Status == nil || !slices.ContainsFunc(s.Status.Engines, old) {
		return nil
	}
	next := s.DeepCopy()
	next.Status.Engines = slices.DeleteFunc(next.Status.Engines, old)
	err := r.Client.Status().Patch(ctx, next, client.MergeFromWithOptions(s, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(v1alpha1.FieldManager))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the cache is outdated, and its next event runs the reconciler again
	}
	if err != nil {
		return fmt.Errorf("writing the status of shard %s: %w", s.Name, err)
	}
	return nil
}
