package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"varve.dev/varve/api/v1alpha1"
)

// SetupWithManager lets the reconciler run: on changes of Archivers and of what
// they are made of, and on the reports of their engines.
func (r *ArchiverReconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Registerer.MustRegister(&r.metrics)
	own := builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})
	b := ctrl.NewControllerManagedBy(mgr).
		Named("archiver").
		For(&v1alpha1.Archiver{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(archiverOf), own).
		Watches(&v1alpha1.ArchiveShard{}, handler.EnqueueRequestsFromMapFunc(archiverOf), own).
		WatchesRawSource(r.Compiled.source(thisArchiver)).
		WatchesRawSource(r.Fleet.Changes(thisArchiver)).
		WatchesRawSource(r.Fleet.Reports(thisArchiver))
	for o := range childKinds() {
		// By label, not by owner: a volume has none.
		b.Watches(o, handler.EnqueueRequestsFromMapFunc(archiverOf), own)
	}
	return b.Complete(r)
}

// archiverOf asks to reconcile the Archiver that an object belongs to.
func archiverOf(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[v1alpha1.LabelArchiver]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

func thisArchiver(_ context.Context, archiver types.NamespacedName) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: archiver}}
}
