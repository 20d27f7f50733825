package agent

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// worker processes shards from a queue, and retries failed ones with exponential backoff.
// A shard that is queued several times is processed once.
type worker struct {
	parallel int
	do       func(ctx context.Context, shard int) error
	queue    workqueue.TypedRateLimitingInterface[int]
}

// Limits of the backoff, and of one attempt.
const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 10 * time.Second
	tryTimeout = 10 * time.Second
)

func newWorker(parallel int, do func(context.Context, int) error) *worker {
	return &worker{parallel: parallel, do: do, queue: workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[int](firstRetry, lastRetry))}
}

// add queues a shard. It does nothing while the shard waits for a retry.
func (w *worker) add(shard int) {
	if w.queue.NumRequeues(shard) == 0 {
		w.queue.Add(shard)
	}
}

// run processes shards until ctx ends.
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
