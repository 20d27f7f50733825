package wakeup

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"varve.dev/varve/api/v1alpha1"
)

// Archiver returns a request for the Archiver itself. It has the type Requests.
func Archiver(_ context.Context, archiver types.NamespacedName) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: archiver}}
}

// ArchiverOf returns a request for the Archiver in the label of an object. It has the type
// handler.MapFunc.
func ArchiverOf(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[v1alpha1.LabelArchiver]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// ArchiverOfGroup returns the name of the Archiver that a group refers to.
func ArchiverOfGroup(g *v1alpha1.ArchiveGroup) types.NamespacedName {
	return types.NamespacedName{Namespace: g.Namespace, Name: g.Spec.ArchiverRef.Name}
}
