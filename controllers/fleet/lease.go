package fleet

import (
	"cmp"
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
)

const (
	// leaseInterval is how often Leases are listed, as often as they are renewed.
	leaseInterval = 2 * time.Second
	// leaseTimeout bounds a list.
	leaseTimeout = 5 * time.Second
	// leaseGap is how far good lists may be apart for clocks to go on.
	leaseGap = 5 * time.Second
	// leaseExpiry is how long a Lease may be seen unchanged.
	leaseExpiry = 10 * time.Second
)

// clock tells how long a Lease was not renewed.
type clock struct {
	holder  string
	renewed time.Time // as the Lease says, by the clock of the engine: only compared with itself
	since   time.Time // when that was seen first, or the clock started anew; by our own clock
	dead    bool
}

func (c *clock) seen() bool { return !c.since.IsZero() }

// renew takes what the Lease says now. fresh says that it is news.
func (c *clock) renew(spec *coordinationv1.LeaseSpec, now time.Time) (fresh bool) {
	var holder string
	var renewed time.Time
	if spec.HolderIdentity != nil {
		holder = *spec.HolderIdentity
	}
	if spec.RenewTime != nil {
		renewed = spec.RenewTime.Time
	}
	if c.seen() && holder == c.holder && renewed.Equal(c.renewed) {
		return false
	}
	*c = clock{holder: holder, renewed: renewed, since: now}
	return true
}

// wait lets a clock go on without news, or starts it anew. It returns true when
// the engine has just died.
func (c *clock) wait(now time.Time, anew bool) bool {
	switch {
	case c.dead || !c.seen():
		return false
	case anew:
		c.since = now
		return false
	}
	c.dead = now.Sub(c.since) >= leaseExpiry
	return c.dead
}

// pollLeases looks at all Leases once.
func (f *Fleet) pollLeases(ctx context.Context) {
	leases, err := f.listLeases(ctx)
	if err != nil {
		if ctx.Err() == nil {
			f.metrics.leaseFailures.Inc()
			f.cfg.Log.Error(err, "Listing Leases of engines failed: none of them is taken for dead meanwhile")
		}
		f.mu.Lock()
		f.listed = time.Time{}
		f.mu.Unlock()
		return
	}
	pods, err := f.pods(ctx)
	if err != nil {
		f.cfg.Log.Error(err, "Listing pods of engines failed")
		return
	}
	f.zones(ctx, pods)
	present := make(map[types.NamespacedName]bool, len(pods)+len(leases))
	for i := range pods {
		present[client.ObjectKeyFromObject(&pods[i])] = true
	}
	for _, archiver := range f.observe(leases, present, time.Now()) {
		f.changes.Wake(archiver)
	}
}

// listLeases asks the API server. It answers from what etcd has, never from an
// old cache, or not at all.
func (f *Fleet) listLeases(ctx context.Context) ([]coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	var out []coordinationv1.Lease
	for _, namespace := range f.cfg.Namespaces {
		var list coordinationv1.LeaseList
		if err := f.cfg.API.List(ctx, &list, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelArchiver}); err != nil {
			return nil, err
		}
		out = append(out, list.Items...)
	}
	return out, nil
}

// observe takes a good list of Leases. It returns the Archivers of engines that
// came, died or live again. Engines with neither a Lease nor a pod are forgotten.
func (f *Fleet) observe(leases []coordinationv1.Lease, present map[types.NamespacedName]bool, now time.Time) []types.NamespacedName {
	f.mu.Lock()
	defer f.mu.Unlock()
	anew := f.listed.IsZero() || now.Sub(f.listed) > leaseGap
	f.listed = now
	changed := map[types.NamespacedName]bool{}
	renewed := map[types.NamespacedName]bool{}
	for i := range leases {
		l := &leases[i]
		key := client.ObjectKeyFromObject(l)
		present[key] = true
		e := f.knownLocked(key, l.Labels[v1alpha1.LabelArchiver])
		news := !e.lease.seen() || e.lease.dead
		if renewed[key] = e.lease.renew(&l.Spec, now); renewed[key] && news {
			changed[e.archiver] = true
		}
	}
	for key, e := range f.engines {
		if !renewed[key] && e.lease.wait(now, anew) {
			f.cfg.Log.Info("Engine does not renew its Lease", "archiver", e.archiver, "engine", key.Name)
			f.metrics.deaths.Inc()
			changed[e.archiver] = true
		}
		if !present[key] {
			delete(f.engines, key)
		}
	}
	return keys(changed)
}

// knownLocked returns what is known of an engine.
func (f *Fleet) knownLocked(pod types.NamespacedName, archiver string) *engine {
	e := f.engines[pod]
	if e == nil {
		e = &engine{}
		f.engines[pod] = e
	}
	e.archiver = types.NamespacedName{Namespace: pod.Namespace, Name: archiver}
	return e
}

func compareKeys(a, b client.Object) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
