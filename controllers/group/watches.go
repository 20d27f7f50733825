package group

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/wakeup"
)

// SetupWithManager makes the reconciler run after changes of groups, after their
// compilation, and after reports of engines.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Registerer.MustRegister(&r.metrics)
	return ctrl.NewControllerManagedBy(mgr).
		Named("archivegroup").
		For(&v1alpha1.ArchiveGroup{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Archiver{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return r.groupsOf(ctx, client.ObjectKeyFromObject(o))
		}), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(r.Outcomes.Changes(r.groupsOf)).
		WatchesRawSource(r.Fleet.Reports(r.groupsOf)).
		Complete(r)
}

// groupsOf returns requests for the groups of an Archiver.
func (r *Reconciler) groupsOf(ctx context.Context, archiver types.NamespacedName) []reconcile.Request {
	var groups v1alpha1.ArchiveGroupList
	if err := r.Client.List(ctx, &groups, client.InNamespace(archiver.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing groups failed")
		return nil
	}
	var requests []reconcile.Request
	for i := range groups.Items {
		if g := &groups.Items[i]; wakeup.ArchiverOfGroup(g) == archiver {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(g)})
		}
	}
	return requests
}
