package wakeup

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Late returns a source of the events of a kind whose CRD may be missing. A controller with this source starts without the
// CRD, and gets events at most ten seconds after somebody has created the CRD. With other sources, the operator exits after
// two minutes without the CRD.
func Late(c cache.Cache, kind client.Object, h handler.EventHandler, when ...predicate.Predicate) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return source.Kind(c, kind, h, when...).Start(ctx, queue)
	})
}
