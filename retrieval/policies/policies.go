// Package policies knows the ArchivePolicies of an archive in a pod that serves readers:
//
//	ArchivePolicies ── mirror ── removal ──┬▶ groups/ownership ──▶ policy.Set ── Current ──▶ each request
//	                                       └▶ file ── after a restart ──▶
//
// A new or changed policy applies to the next request. A deleted policy still applies for some seconds: if its CRD is
// deleted, all policies disappear, and this must not show hidden PVs (see removal). While the API server is down, the last
// policies apply. If a pod has no file and has never reached the API server, it knows no policies, and serves no PVs. Neither
// does it while the CRD is being deleted, because then some policies may be missing.
package policies

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/mirror"
	"varve.dev/varve/engine/policy"
	"varve.dev/varve/groups/ownership"
)

// Policies knows the policies of an Archiver. Create it with New. Run keeps it up to date.
type Policies struct {
	archiver string
	dir      string // of the file; "" for none
	log      *slog.Logger
	mirrored *mirror.Objects[*v1alpha1.ArchivePolicy]
	removal  *removal
	current  atomic.Pointer[policy.Set]
}

// New returns the policies of an Archiver. They are not known yet, unless an earlier process saved them in dir. Without
// dir, they are not saved.
func New(c *mirror.Client, namespace, archiver, dir string, log *slog.Logger) *Policies {
	p := &Policies{archiver: archiver, dir: dir, log: log}
	p.removal = newRemoval(p.apply, func(ctx context.Context) error { return exists(ctx, c) }, log)
	if dir != "" {
		list, found, err := load(dir, archiver)
		switch {
		case err != nil:
			log.Warn("the saved ArchivePolicies cannot be used, so reads wait for the API server", "err", err)
		case found:
			p.removal.list, p.removal.known = list, true
			p.current.Store(ownership.Enforced(list, archiver))
		}
	}
	p.mirrored = mirror.NewObjects[*v1alpha1.ArchivePolicy](c, &v1alpha1.ArchivePolicyList{}, mirror.Select{Namespace: namespace}, p.update)
	p.mirrored.Trim(func(o *v1alpha1.ArchivePolicy) { o.ManagedFields, o.Annotations, o.Status = nil, nil, nil })
	return p
}

// Run keeps the policies up to date until ctx ends.
func (p *Policies) Run(ctx context.Context) {
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { p.removal.run(ctx) })
	p.mirrored.Run(ctx)
}

// update is called by the mirror, after one change at a time.
func (p *Policies) update() {
	objects, synced := p.mirrored.All()
	if !synced {
		return
	}
	list := make([]v1alpha1.ArchivePolicy, 0, len(objects))
	for _, o := range objects {
		list = append(list, *o)
	}
	p.removal.set(list)
}

// apply makes policies the current ones, and saves them.
func (p *Policies) apply(list []v1alpha1.ArchivePolicy) {
	if p.dir != "" {
		if err := save(p.dir, p.archiver, list); err != nil {
			p.log.Error("after a restart, reads will wait for the API server", "err", err)
		}
	}
	p.current.Store(ownership.Enforced(list, p.archiver))
}

// existsTime is how long a look for the CRD may take.
const existsTime = 5 * time.Second

// exists returns nil if the API server has the CRD of ArchivePolicies, and the CRD is not being deleted.
func exists(ctx context.Context, c *mirror.Client) error {
	ctx, cancel := context.WithTimeout(ctx, existsTime)
	defer cancel()
	verbs, err := c.Verbs(ctx, v1alpha1.GroupVersion, resource)
	switch {
	case err != nil:
		return err
	case len(verbs) == 0:
		return fmt.Errorf("the CRD %s.%s is missing", resource, v1alpha1.GroupVersion.Group)
	case !slices.Contains(verbs, "create"):
		return fmt.Errorf("the CRD %s.%s is being deleted", resource, v1alpha1.GroupVersion.Group)
	}
	return nil
}

// resource is the name of the ArchivePolicies in URLs of the API server.
const resource = "archivepolicies"

// Current returns the policies that apply now. known is false before the API server has listed them.
func (p *Policies) Current() (policies *policy.Set, known bool) {
	s := p.current.Load()
	return s, s != nil
}

// Ready returns an error while the policies are not known.
func (p *Policies) Ready() error {
	if p.current.Load() == nil {
		return errors.New("the ArchivePolicies, which say who may read, are not known yet: the API server must be reachable, " +
			"it must have the CRD, the CRD must not be in deletion, and the Role of the pods must let them list ArchivePolicies")
	}
	return nil
}
