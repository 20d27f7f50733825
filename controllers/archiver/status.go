package archiver

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/archiverstatus"
	"varve.dev/varve/controllers/render"
	"varve.dev/varve/controllers/status"
)

// writeStatus writes the status if it has changed, and records events of changed conditions.
func (r *Reconciler) writeStatus(ctx context.Context, a *v1alpha1.Archiver, next v1alpha1.ArchiverStatus) error {
	name := client.ObjectKeyFromObject(a)
	if !archiverstatus.Changed(a.Status, next, r.written.Since(name)) {
		return nil
	}
	old := a.DeepCopy()
	a.Status = &next
	if written, err := status.Patch(ctx, r.Client, old, a); err != nil || !written {
		return err
	}
	r.written.Record(name)
	var before []metav1.Condition
	if old.Status != nil {
		before = old.Status.Conditions
	}
	status.RecordTransitions(r.Recorder, a, before, next.Conditions)
	return nil
}

// requeueAfter returns how soon to reconcile an Archiver again without an event, or zero if
// events are enough.
func requeueAfter(a *v1alpha1.Archiver, conditions []metav1.Condition) time.Duration {
	after := time.Duration(0)
	if !meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady) {
		after = unreadyInterval
	}
	if render.Managed(a) != nil {
		after = cassandraInterval
		if !meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionCassandraReady) {
			after = cassandraChangingInterval
		}
	}
	return after
}
