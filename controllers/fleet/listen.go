package fleet

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Requests says what to reconcile when there is news of an Archiver's engines.
type Requests func(ctx context.Context, archiver types.NamespacedName) []reconcile.Request

// Changes is a source of requests whenever an engine of an Archiver came, died,
// lives again, or wants to leave. What pods say is left to those who watch pods.
func (f *Fleet) Changes(requests Requests) source.Source { return f.changes.source(requests) }

// Reports is a source of requests whenever the engines of an Archiver were asked
// for reports.
func (f *Fleet) Reports(requests Requests) source.Source { return f.reports.source(requests) }

// listeners are queues that want to know. A queue holds a request once, so news
// may come as often as they like.
type listeners struct {
	mu  sync.Mutex
	all []*listener
}

type listener struct {
	tell func(archiver types.NamespacedName)
}

func (l *listeners) source(requests Requests) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		added := &listener{tell: func(archiver types.NamespacedName) {
			for _, r := range requests(ctx, archiver) {
				queue.Add(r)
			}
		}}
		l.mu.Lock()
		l.all = append(l.all, added)
		l.mu.Unlock()
		context.AfterFunc(ctx, func() { l.remove(added) })
		return nil
	})
}

func (l *listeners) remove(gone *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(have *listener) bool { return have == gone })
}

func (l *listeners) tell(archivers []types.NamespacedName) {
	l.mu.Lock()
	all := slices.Clone(l.all)
	l.mu.Unlock()
	for _, archiver := range archivers {
		for _, to := range all {
			to.tell(archiver)
		}
	}
}
