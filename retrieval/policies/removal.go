package policies

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"varve.dev/varve/api/v1alpha1"
)

const (
	// removalDelay is how long deleted policies still apply. Kubernetes deletes a CRD a few seconds after its objects.
	removalDelay = 15 * time.Second
	// checkEvery is the time between two looks for the CRD while policies are missing. A CRD that is deleted and applied
	// again must not escape them.
	checkEvery = time.Second
	// retryEvery is the time between two looks while the CRD is missing.
	retryEvery = 5 * time.Second
)

// removal delays the removal of policies until it is sure that somebody deleted them, and not their CRD:
//
//	set ─┬─ first list ── if the CRD exists ──▶ apply
//	     ├─ new and changed ──────────────────▶ apply at once
//	     └─ missing ── after removalDelay, if the CRD existed all the time ──▶ apply
//
// When the CRD comes back, the delay of all missing policies begins again, so that they can be applied again, too.
type removal struct {
	apply  func([]v1alpha1.ArchivePolicy)
	exists func(context.Context) error // nil if the API server has the CRD, and nobody has deleted it
	log    *slog.Logger
	wake   chan struct{} // has a value after the first list, and after a policy has disappeared; never closed

	mu    sync.Mutex
	known bool                     // policies have been applied
	list  []v1alpha1.ArchivePolicy // the policies that apply, also those that have disappeared
	now   []v1alpha1.ArchivePolicy // the policies of the API server
	gone  map[string]time.Time     // by the name of a policy that has disappeared but still applies: when its delay began
}

func newRemoval(apply func([]v1alpha1.ArchivePolicy), exists func(context.Context) error, log *slog.Logger) *removal {
	return &removal{apply: apply, exists: exists, log: log, wake: make(chan struct{}, 1), gone: map[string]time.Time{}}
}

// set receives all policies of the API server, after each change.
func (r *removal) set(list []v1alpha1.ArchivePolicy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = list
	if r.known {
		r.keepLocked()
		r.apply(r.list)
	}
	if !r.known || len(r.gone) > 0 {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// keepLocked adds to the policies of the API server those that have disappeared but still apply, and notes which these are.
func (r *removal) keepLocked() {
	gone := map[string]time.Time{}
	list := slices.Clone(r.now)
	for i := range r.list {
		name := r.list[i].Name
		if has(r.now, name) {
			continue
		}
		list = append(list, r.list[i])
		if gone[name] = time.Now(); !r.gone[name].IsZero() {
			gone[name] = r.gone[name]
		}
	}
	r.list, r.gone = list, gone
}

// run removes policies until ctx ends.
func (r *removal) run(ctx context.Context) {
	for {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return
		}
		for failed, pending := r.step(ctx, false); pending; failed, pending = r.step(ctx, failed) {
			pause := checkEvery
			if failed {
				pause = retryEvery
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
		}
	}
}

// step looks for the CRD once, and removes the policies whose delay has ended. failed says that the CRD is missing, before
// as an argument and now as a result. pending says that another step is needed.
func (r *removal) step(ctx context.Context, before bool) (failed, pending bool) {
	err := r.exists(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && !r.known && apierrors.IsForbidden(err) {
		err = nil // the API server has sent a list of policies, so their CRD existed
	}
	if err != nil {
		if !before && ctx.Err() == nil {
			r.log.Warn("it is not sure which ArchivePolicies somebody has deleted, so those that are known still apply; if the CRD is missing, apply the CRD and the policies", "err", err)
		}
		return true, true
	}
	if before { // the policies may follow their CRD
		for name := range r.gone {
			r.gone[name] = time.Now()
		}
	}
	r.confirmLocked()
	return false, len(r.gone) > 0
}

// confirmLocked applies the first list, and removes the policies whose delay has ended.
func (r *removal) confirmLocked() {
	if !r.known {
		r.known, r.list = true, r.now
		r.apply(r.list)
		return
	}
	ended := func(p v1alpha1.ArchivePolicy) bool { //nolint:gocritic // as slices.DeleteFunc wants it
		since, missing := r.gone[p.Name]
		return missing && time.Since(since) >= removalDelay
	}
	left := slices.DeleteFunc(slices.Clone(r.list), ended)
	if len(left) == len(r.list) {
		return
	}
	r.list = left
	r.keepLocked()
	r.apply(r.list)
}

func has(list []v1alpha1.ArchivePolicy, name string) bool {
	return slices.ContainsFunc(list, func(p v1alpha1.ArchivePolicy) bool { return p.Name == name })
}
