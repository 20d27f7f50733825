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

// listGrace is for how long a channel list stays that no shard names any more. An
// engine may have read the shard as it was, and be about to read the list.
const listGrace = time.Minute

// prune deletes what is not needed any more. It returns when to come again for
// lists.
func (r *Reconciler) prune(ctx context.Context, in *observed, made *compiled, known *archive) (time.Duration, error) {
	for _, s := range in.stray {
		if err := r.Client.Delete(ctx, s.DeepCopy()); client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("deleting shard %s: %w", s.Name, err)
		}
	}
	for i := range made.shards {
		if s := in.shards[i]; s != nil {
			if err := r.pruneAnswers(ctx, s); err != nil {
				return 0, err
			}
		}
	}
	return r.pruneLists(ctx, in, made, known)
}

// pruneLists deletes lists that were not needed for the whole grace.
func (r *Reconciler) pruneLists(ctx context.Context, in *observed, made *compiled, known *archive) (wait time.Duration, err error) {
	used := map[string]bool{}
	for i := range made.shards {
		for _, name := range slices.Concat(made.shards[i].captured(), made.shards[i].deletions) {
			used[name] = true
		}
	}
	now := time.Now()
	unused := map[string]time.Time{}
	for name, list := range in.lists {
		if used[name] {
			continue
		}
		since, ok := known.unused[name]
		if !ok {
			since = now
		}
		if left := listGrace - now.Sub(since); left > 0 {
			unused[name] = since
			wait = earliest(wait, left)
			continue
		}
		if err := r.Client.Delete(ctx, list.DeepCopy()); client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("deleting channel list %s: %w", name, err)
		}
	}
	known.unused = unused
	return wait, nil
}

// pruneAnswers deletes the answers of engines that have nothing to do with a shard
// any more: the list of answers is bounded, and an old one would be taken for new
// when the engine gets the shard again.
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
		return nil // the cache is behind: its next event brings us here again
	}
	if err != nil {
		return fmt.Errorf("writing the status of shard %s: %w", s.Name, err)
	}
	return nil
}
