package scan

import (
	"context"
	"iter"
	"sync"
)

// aheadBytes bounds the bytes of blobs in a queue. A larger blob is alone in the queue.
const aheadBytes = 1 << 20

// ahead reads a sequence of sources ahead of the merge, so that the store reads the next
// ones while the merge decodes:
//
//	store ──▶ goroutine ── queue: bounded by bytes ──▶ next
//
// It is one block ahead at first. The more blocks the merge has taken, the further ahead it
// reads. A short read therefore reads few blocks. The goroutine ends with the sequence or at
// stop.
type ahead struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	changed sync.Cond
	queue   []fetched
	bytes   int  // of the queue
	taken   int  // number of elements taken from the queue so far
	ended   bool // nothing will be added to the queue
	stopped bool
}

// fetched is an element of the sequence.
type fetched struct {
	source *source
	err    error
}

func (f *fetched) size() int {
	if f.err != nil || f.source.blk == nil {
		return 0
	}
	return len(f.source.blk.Blob)
}

// readAhead starts reading a sequence. The caller must call stop.
func readAhead(ctx context.Context, read func(context.Context) iter.Seq2[*source, error]) *ahead {
	a := &ahead{done: make(chan struct{})}
	a.changed.L = &a.mu
	ctx, a.cancel = context.WithCancel(ctx)
	go func() {
		defer close(a.done)
		for s, err := range read(ctx) {
			if !a.put(fetched{s, err}) {
				break
			}
		}
		a.mu.Lock()
		a.ended = true
		a.changed.Signal()
		a.mu.Unlock()
	}()
	return a
}

// put adds an element to the queue and waits until there is room for more. It returns false
// after stop.
func (a *ahead) put(f fetched) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = append(a.queue, f)
	a.bytes += f.size()
	a.changed.Signal()
	for !a.stopped && (a.bytes >= aheadBytes || len(a.queue) >= max(1, a.taken-1)) {
		a.changed.Wait()
	}
	return !a.stopped
}

// next returns the next element, or false at the end.
func (a *ahead) next() (f fetched, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.queue) == 0 {
		if a.ended {
			return f, false
		}
		a.changed.Wait()
	}
	f, a.queue[0] = a.queue[0], fetched{}
	a.queue = a.queue[1:]
	a.bytes -= f.size()
	a.taken++
	a.changed.Signal()
	return f, true
}

// all yields the rest of the sequence.
func (a *ahead) all(yield func(*source, error) bool) {
	for {
		f, ok := a.next()
		if !ok || !yield(f.source, f.err) {
			return
		}
	}
}

// stop drops the rest of the sequence and waits until its goroutine has ended.
func (a *ahead) stop() {
	a.cancel()
	a.mu.Lock()
	a.stopped = true
	a.changed.Signal()
	a.mu.Unlock()
	<-a.done
}
