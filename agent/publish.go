package agent

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/mirror"
)

// reason puts why a list can not be read into words that stay the same from one
// try to the next.
func reason(err error) string {
	if errors.Is(err, mirror.ErrUnreachable) {
		return mirror.ErrUnreachable.Error()
	}
	return err.Error()
}

// write writes the answer of a shard into its status. Other engines write theirs
// into the same object: a write upon an old version is refused, and done again
// upon the new one.
func (a *Agent) write(ctx context.Context, index int) error {
	a.mu.Lock()
	s := a.shards[index]
	if s == nil || s.object == nil {
		a.mu.Unlock()
		return nil
	}
	obj, ans := s.object, s.answer(a.cfg.Name)
	a.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	if ans.isIn(obj.Status) {
		return nil
	}
	next := obj.DeepCopy()
	ans.into(next)
	err := a.cfg.Client.Status().Patch(ctx, next, client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return a.refresh(ctx, index)
	case err != nil:
		a.log.Warn("the status of a shard can not be written", "shard", index, "err", err)
		return err
	}
	a.metrics.writes.Inc()
	a.mu.Lock()
	defer a.mu.Unlock()
	s.written, s.base = ans, obj.ResourceVersion
	if s.presence == handover.Unlabelled {
		s.object = next
	}
	return nil
}

// errAgain asks for another try.
var errAgain = errors.New("the object has changed meanwhile")

// refresh gets the latest version of an ArchiveShard, for another try.
func (a *Agent) refresh(ctx context.Context, index int) error {
	if err := a.lookUp(ctx, index); err != nil {
		return err
	}
	return errAgain
}

// lookUp asks for an ArchiveShard by name.
func (a *Agent) lookUp(ctx context.Context, index int) error {
	a.mu.Lock()
	s := a.shards[index]
	a.mu.Unlock()
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	var obj v1alpha1.ArchiveShard
	err := a.cfg.Client.Get(ctx, client.ObjectKey{Namespace: a.cfg.Namespace, Name: s.name}, &obj)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch _, labelled := obj.Labels[v1alpha1.EngineLabel(a.cfg.Name)]; {
	case err != nil:
		s.presence, s.gone = handover.Missing, true
	case labelled:
		s.see(&obj, handover.Present)
	default:
		s.see(&obj, handover.Unlabelled)
	}
	a.poke()
	return nil
}
