package controllers

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"
)

// Wakeups let news that is in no object of the API server wake reconcilers. A
// queue holds a request once, so there may be as much news as there likes to be.
// The zero value is ready to use.
type Wakeups struct {
	mu     sync.Mutex
	listen []func(types.NamespacedName)
}

// Wake tells all queues. It does not block.
func (w *Wakeups) Wake(name types.NamespacedName) {
	w.mu.Lock()
	listen := w.listen
	w.mu.Unlock()
	for _, tell := range listen {
		tell(name)
	}
}

// source makes requests of news.
func (w *Wakeups) source(requests func(context.Context, types.NamespacedName) []reconcile.Request) ctrlsource.Source {
	return ctrlsource.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.listen = append(w.listen, func(name types.NamespacedName) {
			for _, r := range requests(ctx, name) {
				queue.Add(r)
			}
		})
		return nil
	})
}
