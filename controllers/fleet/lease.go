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
	// leaseInterval is how often Leases are listed. Engines renew them as often.
	leaseInterval = 2 * time.Second
	// leaseTimeout is how long listing may take.
	leaseTimeout = 5 * time.Second
	// leaseGap is the longest time between two lists for which clocks continue. After a longer
	// time they start again.
	leaseGap = 5 * time.Second
	// leaseExpiry is how long a Lease may stay unchanged before its engine is dead.
	leaseExpiry = 10 * time.Second
)

// clock measures how long a Lease has not been renewed.
type clock struct {
	holder  string
	renewed time.Time // the time in the Lease, by the engine's clock; compared only with other times of that clock
	since   time.Time // when this renewal was first seen, or the clock started again; by the operator's clock
	dead    bool
}

// seen reports whether the engine has had a Lease.
func (c *clock) seen() bool { return !c.since.IsZero() }

// renew passes the current Lease to the clock. fresh reports whether it was renewed.
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

// advance continues the clock of an unchanged Lease, or starts it again. died reports whether
// the engine has just died.
func (c *clock) advance(now time.Time, restart bool) (died bool) {
	switch {
	case c.dead || !c.seen():
		return false
	case restart:
		c.since = now
		return false
	}
	c.dead = now.Sub(c.since) >= leaseExpiry
	return c.dead
}

// pollLeases lists all Leases once.
func (f *Fleet) pollLeases(ctx context.Context) {
	leases, err := f.listLeases(ctx)
	if err != nil {
		if ctx.Err() == nil {
			f.metrics.leaseFailures.Inc()
			f.cfg.Log.Error(err, "listing Leases of engines failed; no engine counts as dead meanwhile")
		}
		f.mu.Lock()
		f.listed = time.Time{}
		f.mu.Unlock()
		return
	}
	pods, err := f.pods(ctx)
	if err != nil {
		f.cfg.Log.Error(err, "listing pods of engines failed")
		return
	}
	f.updateZones(ctx, pods)
	present := make(map[types.NamespacedName]bool, len(pods)+len(leases))
	for i := range pods {
		present[client.ObjectKeyFromObject(&pods[i])] = true
	}
	for _, archiver := range f.observe(leases, present, time.Now()) {
		f.changes.Wake(archiver)
	}
}

// listLeases lists the Leases of engines. The answer of the API server is up to date and never
// comes from an outdated cache.
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

// observe processes a complete list of Leases. It returns the Archivers of engines that
// appeared, died or came back to life. It forgets engines with neither a Lease nor a pod.
func (f *Fleet) observe(leases []coordinationv1.Lease, present map[types.NamespacedName]bool, now time.Time) []types.NamespacedName {
	f.mu.Lock()
	defer f.mu.Unlock()
	restart := f.listed.IsZero() || now.Sub(f.listed) > leaseGap
	f.listed = now
	changed := map[types.NamespacedName]bool{}
	renewed := map[types.NamespacedName]bool{}
	for i := range leases {
		l := &leases[i]
		key := client.ObjectKeyFromObject(l)
		present[key] = true
		e := f.knownLocked(key, l.Labels[v1alpha1.LabelArchiver])
		wasAlive := e.lease.seen() && !e.lease.dead
		if renewed[key] = e.lease.renew(&l.Spec, now); renewed[key] && !wasAlive {
			changed[e.archiver] = true
		}
	}
	for key, e := range f.engines {
		if !renewed[key] && e.lease.advance(now, restart) {
			f.cfg.Log.Info("engine does not renew its Lease", "archiver", e.archiver, "engine", key.Name)
			f.metrics.deaths.Inc()
			changed[e.archiver] = true
		}
		if !present[key] {
			delete(f.engines, key)
		}
	}
	return keys(changed)
}

// knownLocked returns the state of an engine, which may be new.
func (f *Fleet) knownLocked(pod types.NamespacedName, archiver string) *engine {
	e := f.engines[pod]
	if e == nil {
		e = &engine{}
		f.engines[pod] = e
	}
	e.archiver = types.NamespacedName{Namespace: pod.Namespace, Name: archiver}
	return e
}

// compareKeys compares objects by namespace and name.
func compareKeys(a, b client.Object) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
