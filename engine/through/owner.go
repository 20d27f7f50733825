package through

import (
	"context"
	"errors"
	"sync"
)

// owner owns the goroutines of an Archive. They serve several readers, so they outlive the request that began them.
type owner struct {
	ctx context.Context
	end context.CancelFunc

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

func newOwner() *owner {
	o := &owner{}
	o.ctx, o.end = context.WithCancel(context.Background())
	return o
}

// errClosed is the error of reads after Close.
var errClosed = errors.New("the process stops")

// run runs a function in a goroutine, and reports whether it does. Its context ends with the owner. The caller may hold
// locks that the function takes.
func (o *owner) run(f func(ctx context.Context)) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.wg.Go(func() { f(o.ctx) })
	return true
}

// close ends all goroutines, and waits for them.
func (o *owner) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.end()
	o.wg.Wait()
}
