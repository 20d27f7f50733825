package agent

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// worker does something for one shard at a time, and again, later and later, as
// long as it fails. A shard that is asked for often is done once.
type worker struct {
	parallel int
	do       func(ctx context.Context, shard int) error
	queue    workqueue.TypedRateLimitingInterface[int]
}

// Limits of trying again, and of one try.
const (
	firstTry   = 250 * time.Millisecond
	lastTry    = 10 * time.Second
	tryTimeout = 10 * time.Second
)

func newWorker(parallel int, do func(context.Context, int) error) *worker {
	return &worker{parallel: parallel, do: do, queue: workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[int](firstTry, lastTry))}
}

// add asks for a shard to be done. While a try failed and waits, it changes nothing.
func (w *worker) add(shard int) {
	if w.queue.NumRequeues(shard) == 0 {
		w.queue.Add(shard)
	}
}

// run works until ctx ends.
func (w *worker) run(ctx context.Context) {
	var wg sync.WaitGroup
	for range w.parallel {
		wg.Go(func() {
			for {
				shard, end := w.queue.Get()
				if end {
					return
				}
				if ctx.Err() == nil && w.do(ctx, shard) != nil {
					w.queue.AddRateLimited(shard)
				} else {
					w.queue.Forget(shard)
				}
				w.queue.Done(shard)
			}
		})
	}
	<-ctx.Done()
	w.queue.ShutDown()
	wg.Wait()
}
