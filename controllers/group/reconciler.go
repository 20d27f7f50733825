package group

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	written status.Pace
}

// Reconcile writes the status of one group, if it has changed.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	group := &v1alpha1.ArchiveGroup{}
	if err := r.Client.Get(ctx, req.NamespacedName, group); err != nil {
		r.written.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	in, err := r.observe(ctx, group)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := groupstatus.Compute(in)
	if !groupstatus.Changed(group.Status, next, r.written.Since(req.NamespacedName)) {
		return ctrl.Result{}, nil
	}
	old := group.DeepCopy()
	group.Status = &next
	if written, err := status.Patch(ctx, r.Client, old, group); err != nil || !written {
		return ctrl.Result{}, err
	}
	r.written.Record(req.NamespacedName)
	var before []metav1.Condition
	if old.Status != nil {
		before = old.Status.Conditions
	}
	status.RecordTransitions(r.Recorder, group, before, next.Conditions)
	return ctrl.Result{}, nil
}
