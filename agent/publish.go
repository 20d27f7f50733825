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

// stableReason returns why a list cannot be read, in words that do not change from one
// attempt to the next.
func stableReason(err error) string {
	if errors.Is(err, mirror.ErrUnreachable) {
		return mirror.ErrUnreachable.Error()
	}
	return err.Error()
}

// writeStatus writes the status of a shard. Other engines write to the same object: the API
// server rejects a write that is based on an old version, and the agent repeats it on the
// new version.
func (a *Agent) writeStatus(ctx context.Context, index int) error {
	a.mu.Lock()
	s := a.shards[index]
	if s == nil || s.object == nil {
		a.mu.Unlock()
		return nil
	}
	obj, update := s.object, s.statusUpdate(a.cfg.Name)
	a.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	if update.isAppliedTo(obj.Status) {
		return nil
	}
	next := obj.DeepCopy()
	update.applyTo(next)
	err := a.cfg.Client.Status().Patch(ctx, next, client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return a.refresh(ctx, index)
	case err != nil:
		a.log.Warn("writing the status of a shard failed", "shard", index, "err", err)
		return err
	}
	a.metrics.writes.Inc()
	a.mu.Lock()
	defer a.mu.Unlock()
	s.written, s.base = update, obj.ResourceVersion
	if s.presence == handover.Unlabelled {
		s.object = next
	}
	return nil
}

// errChanged requests another attempt.
var errChanged = errors.New("the ArchiveShard has changed; the agent has read it again and retries")

// refresh fetches the latest version of an ArchiveShard, for another attempt.
func (a *Agent) refresh(ctx context.Context, index int) error {
	if err := a.fetchShard(ctx, index); err != nil {
		return err
	}
	return errChanged
}

// fetchShard fetches an ArchiveShard by name.
func (a *Agent) fetchShard(ctx context.Context, index int) error {
	_, err := a.readShard(ctx, index)
	return err
}

// readShard fetches an ArchiveShard by name, and returns it. It returns nil if the object does not exist, or does not name this
// engine. The mirror may be older than the returned object, and may soon put an older state in its place in a.shards.
func (a *Agent) readShard(ctx context.Context, index int) (*v1alpha1.ArchiveShard, error) {
	a.mu.Lock()
	s := a.shards[index]
	a.mu.Unlock()
	if s == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	var obj v1alpha1.ArchiveShard
	err := a.cfg.Client.Get(ctx, client.ObjectKey{Namespace: a.cfg.Namespace, Name: s.name}, &obj)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	defer a.poke()
	if err != nil {
		s.presence, s.gone = handover.Missing, true
		return nil, nil
	}
	if _, labelled := obj.Labels[v1alpha1.EngineLabel(a.cfg.Name)]; !labelled {
		s.update(&obj, handover.Unlabelled)
		return nil, nil
	}
	s.update(&obj, handover.Present)
	return &obj, nil
}
