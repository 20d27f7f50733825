package group

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/groupstatus"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/controllers/status"
)

// +kubebuilder:rbac:groups=varve.dev,resources=archivegroups,verbs=get;list;watch
// +kubebuilder:rbac:groups=varve.dev,resources=archivegroups/status,verbs=get;patch;update

// Reconciler writes the status of ArchiveGroups.
type Reconciler struct {
	// Client reads from a cache.
	Client   client.Client
	Fleet    *fleet.Fleet
	Outcomes *outcome.Latest
	Recorder events.EventRecorder
	// Registerer registers the metrics of groups.
	Registerer prometheus.Registerer

	written status.Pace
	metrics groupMetrics
}

// Reconcile writes the status of one group, if it has changed.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	group := &v1alpha1.ArchiveGroup{}
	if err := r.Client.Get(ctx, req.NamespacedName, group); err != nil {
		r.written.Forget(req.NamespacedName)
		r.metrics.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	in, err := r.observe(ctx, group)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := groupstatus.Compute(in)
	if in.Synced {
		r.metrics.observe(req.NamespacedName, next.Channels)
	}
	if !groupstatus.Changed(group.Status, next, r.written.Since(req.NamespacedName)) {
		return ctrl.Result{}, nil
	}
	old := group.DeepCopy()
	group.Status = &next
	if written, err := status.Patch(ctx, r.Client, old, group); err != nil || !written {
		return ctrl.Result{}, err
	}
	r.written.Record(req.NamespacedName)
	before := v1alpha1.ArchiveGroupStatus{}
	if old.Status != nil {
		before = *old.Status
	}
	status.RecordTransitions(r.Recorder, group, before.Conditions, next.Conditions)
	r.recordDeletions(group, before.Deletions, next.Deletions)
	return ctrl.Result{}, nil
}

// recordDeletions records events of deletions of samples that have reached another state.
func (r *Reconciler) recordDeletions(group *v1alpha1.ArchiveGroup, before, now []v1alpha1.SampleDeletionStatus) {
	for _, d := range now {
		same := slices.ContainsFunc(before, func(was v1alpha1.SampleDeletionStatus) bool { return was.Hash == d.Hash && was.State == d.State })
		switch {
		case same:
		case d.State == v1alpha1.DeletionHidden:
			r.Recorder.Eventf(group, nil, corev1.EventTypeNormal, "SamplesHidden", "Delete", "deletions[%d]: no reader sees the samples any longer", *d.Index)
		case d.State == v1alpha1.DeletionDone:
			r.Recorder.Eventf(group, nil, corev1.EventTypeNormal, "SamplesDeleted", "Delete", "deletions[%d]: the samples are deleted; the entry can be removed", *d.Index)
		}
	}
}
