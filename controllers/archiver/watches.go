package archiver

import (
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/wakeup"
)

// SetupWithManager makes the reconciler run after changes of Archivers and of their objects,
// and after reports of their engines.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Registerer.MustRegister(&r.metrics)
	own := builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})
	b := ctrl.NewControllerManagedBy(mgr).
		Named("archiver").
		For(&v1alpha1.Archiver{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(wakeup.ArchiverOf), own).
		Watches(&v1alpha1.ArchiveShard{}, handler.EnqueueRequestsFromMapFunc(wakeup.ArchiverOf), own).
		WatchesRawSource(r.Outcomes.Changes(wakeup.Archiver)).
		WatchesRawSource(r.Fleet.Changes(wakeup.Archiver)).
		WatchesRawSource(r.Fleet.Reports(wakeup.Archiver))
	for o := range ChildKinds() {
		// The label identifies the Archiver, because a volume has no owner.
		b.Watches(o, handler.EnqueueRequestsFromMapFunc(wakeup.ArchiverOf), own)
	}
	return b.Complete(r)
}
