package agent

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
)

// The Lease shows that the engine is alive. The engine itself does not depend on it. Only the
// operator acts when it expires.
const (
	leaseEvery   = 2 * time.Second
	leaseSeconds = 10
	leaseTimeout = 3 * time.Second
)

// keepLease renews the Lease of the engine until ctx ends.
func (a *Agent) keepLease(ctx context.Context) {
	tick := time.NewTicker(leaseEvery)
	defer tick.Stop()
	var lease *coordinationv1.Lease // as last written; nil: must be read first
	for {
		next, err := a.renewLease(ctx, lease)
		a.asked.noteLease(err, time.Now())
		if lease = next; err != nil && ctx.Err() == nil {
			a.metrics.leaseFailures.Inc()
			a.log.Warn("renewing the Lease failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// renewLease writes the Lease once. It returns the Lease as stored in the API server, or
// nil if that is not known.
func (a *Agent) renewLease(ctx context.Context, last *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	lease, isNew := last, false
	if lease == nil {
		lease = &coordinationv1.Lease{}
		err := a.cfg.Client.Get(ctx, client.ObjectKey{Namespace: a.cfg.Namespace, Name: a.cfg.Name}, lease)
		if isNew = apierrors.IsNotFound(err); err != nil && !isNew {
			return nil, err
		}
	}
	a.fillLease(lease, time.Now())
	var err error
	if isNew {
		err = a.cfg.Client.Create(ctx, lease)
	} else {
		err = a.cfg.Client.Update(ctx, lease)
	}
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// fillLease makes this process the holder of the Lease and sets its renewal time to now.
func (a *Agent) fillLease(lease *coordinationv1.Lease, now time.Time) {
	holder, seconds, at := a.cfg.Engine.Writer().String(), int32(leaseSeconds), metav1.NewMicroTime(now)
	lease.Namespace, lease.Name = a.cfg.Namespace, a.cfg.Name
	lease.Labels = map[string]string{v1alpha1.LabelArchiver: a.cfg.Archiver}
	if a.cfg.PodUID != "" {
		lease.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: a.cfg.Name, UID: a.cfg.PodUID}}
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != holder {
		lease.Spec.HolderIdentity, lease.Spec.AcquireTime = &holder, &at
	}
	lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &seconds, &at
}
