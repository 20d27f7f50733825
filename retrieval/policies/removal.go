package policies

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// removalDelay is how long deleted policies still apply. Kubernetes deletes a CRD a few seconds after its objects.
const removalDelay = 15 * time.Second

// removal delays the removal of policies until it is sure that somebody deleted them, and not their CRD:
//
//	set ── new and changed ──▶ apply at once
//	    └─ missing ── after removalDelay, if the API server still has the CRD ──▶ apply
//
// When the CRD comes back, removal waits for one more removalDelay, so that the policies can be applied again, too.
type removal struct {
	apply  func([]v1alpha1.ArchivePolicy)
	exists func(context.Context) error // nil if the API server has the CRD
	log    *slog.Logger
	wake   chan struct{} // has a value after a policy has disappeared; never closed

	mu   sync.Mutex
	list []v1alpha1.ArchivePolicy // the policies that apply, also those that have disappeared
	now  []v1alpha1.ArchivePolicy // the policies of the API server
}

func newRemoval(apply func([]v1alpha1.ArchivePolicy), exists func(context.Context) error, log *slog.Logger) *removal {
	return &removal{apply: apply, exists: exists, log: log, wake: make(chan struct{}, 1)}
}

// set receives all policies of the API server, after each change.
func (r *removal) set(list []v1alpha1.ArchivePolicy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(r.list), func(p v1alpha1.ArchivePolicy) bool { return has(list, p.Name) })
	r.now = list
	r.list = append(slices.Clone(list), kept...)
	r.apply(r.list)
	if len(kept) > 0 {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// run removes policies until ctx ends.
func (r *removal) run(ctx context.Context) {
	for {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return
		}
		missing := r.missing()
		for failed := false; ; {
			select {
			case <-time.After(removalDelay):
			case <-ctx.Done():
				return
			}
			err := r.exists(ctx)
			if err == nil && !failed {
				break
			}
			if err == nil { // the policies may follow their CRD
				failed = false
				continue
			}
			if !failed {
				r.log.Warn("ArchivePolicies have disappeared, and the API server does not list their kind, so they still apply; if their CRD is missing, apply the CRD and the policies", "err", err)
			}
			failed = true
		}
		r.confirm(missing)
	}
}

// missing returns the names of the policies that have disappeared, but still apply.
func (r *removal) missing() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if name := r.list[i].Name; !has(r.now, name) {
			names = append(names, name)
		}
	}
	return names
}

// confirm removes policies, unless they have come back. If other policies have disappeared in the meantime, wake has a value
// again.
func (r *removal) confirm(names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(slices.Clone(r.list), func(p v1alpha1.ArchivePolicy) bool {
		return slices.Contains(names, p.Name) && !has(r.now, p.Name)
	})
	r.apply(r.list)
}

func has(list []v1alpha1.ArchivePolicy, name string) bool {
	return slices.ContainsFunc(list, func(p v1alpha1.ArchivePolicy) bool { return p.Name == name })
}
