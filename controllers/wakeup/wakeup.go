// Package wakeup makes reconcilers run after changes that are not visible in any object of the
// API server, and after events of objects that belong to an Archiver.
//
//	fleet, outcome, ChannelFinder ── Wake ──▶ Broadcaster ── Source ──▶ work queues of reconcilers
//	event of a pod, a shard, … ── ArchiverOf ──▶ request for its Archiver
//	events of a kind whose CRD may be missing ── Late ──▶ work queue of a reconciler
package wakeup

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Requests returns the objects to reconcile after a change that concerns an Archiver.
type Requests func(ctx context.Context, archiver types.NamespacedName) []reconcile.Request

// Broadcaster passes wake-ups of Archivers on to the work queues of reconcilers. A
// queue holds each request once, so wake-ups may be frequent. The zero value is
// ready to use, and all methods are safe for concurrent use.
type Broadcaster struct {
	mu        sync.Mutex
	listeners []*listener
}

// listener adds the requests for an Archiver to one queue.
type listener struct {
	enqueue func(archiver types.NamespacedName)
}

// Wake adds the requests for an Archiver to all queues. It does not block.
func (b *Broadcaster) Wake(archiver types.NamespacedName) {
	b.mu.Lock()
	listeners := slices.Clone(b.listeners)
	b.mu.Unlock()
	for _, l := range listeners {
		l.enqueue(archiver)
	}
}

// Source returns a source of the requests for each Archiver that is woken.
func (b *Broadcaster) Source(requests Requests) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		added := &listener{enqueue: func(archiver types.NamespacedName) {
			for _, r := range requests(ctx, archiver) {
				queue.Add(r)
			}
		}}
		b.mu.Lock()
		b.listeners = append(b.listeners, added)
		b.mu.Unlock()
		context.AfterFunc(ctx, func() { b.remove(added) })
		return nil
	})
}

func (b *Broadcaster) remove(gone *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners = slices.DeleteFunc(b.listeners, func(l *listener) bool { return l == gone })
}
