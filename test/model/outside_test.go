package model

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/store"
)

// outside calls a store outside a synctest bubble on behalf of goroutines inside. close ends
// its own goroutines.
type outside struct {
	jobs chan func()
	idle chan chan struct{} // unused done channels, made outside: channels of a bubble cannot be used outside
	now  atomic.Int64       // the bubble's time at the latest call, in ns since 1970
	wg   sync.WaitGroup

	open func(now func() time.Time) (store.Store, error)
	mu   sync.RWMutex // locked for writing while the store is reopened
	st   store.Store
}

const (
	callers = 16
	waiting = 256
)

// newOutside opens a store. Call it outside the bubble.
func newOutside(open func(now func() time.Time) (store.Store, error)) (*outside, error) {
	o := &outside{jobs: make(chan func()), idle: make(chan chan struct{}, waiting), open: open}
	st, err := open(o.clock)
	if err != nil {
		return nil, err
	}
	o.st = st
	for range waiting {
		o.idle <- make(chan struct{}, 1)
	}
	for range callers {
		o.wg.Go(func() {
			for f := range o.jobs {
				f()
			}
		})
	}
	return o, nil
}

// clock returns the time in the bubble.
func (o *outside) clock() time.Time { return time.Unix(0, o.now.Load()) }

func (o *outside) close() error {
	close(o.jobs)
	o.wg.Wait()
	return o.st.Close()
}

// do calls f outside the bubble and waits for it.
func (o *outside) do(f func()) {
	o.now.Store(time.Now().UnixNano())
	done := <-o.idle
	o.jobs <- func() { f(); done <- struct{}{} }
	<-done
	o.idle <- done
}

// call calls f with the store outside the bubble. The context is from outside too.
func (o *outside) call(f func(ctx context.Context, st store.Store) error) (err error) {
	o.do(func() {
		o.mu.RLock()
		defer o.mu.RUnlock()
		err = f(context.Background(), o.st)
	})
	return err
}

// reopen closes the store and opens it again.
func (o *outside) reopen() (err error) {
	o.do(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if err = o.st.Close(); err == nil {
			o.st, err = o.open(o.clock)
		}
	})
	return err
}

// fetch calls f, which reads the store, outside the bubble, and returns its result.
func fetch[T any](ctx context.Context, l *line, f func(context.Context, store.Store) (T, error)) (v T, err error) {
	if err := l.up(ctx); err != nil {
		return v, err
	}
	err = l.out.call(func(ctx context.Context, st store.Store) (err error) { v, err = f(ctx, st); return err })
	return v, err
}

// fetchAll calls f, which reads the store, outside the bubble, and yields its values.
func fetchAll[T any](ctx context.Context, l *line, f func(context.Context, store.Store) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		all, err := fetch(ctx, l, func(ctx context.Context, st store.Store) (all []T, err error) {
			for v, err := range f(ctx, st) {
				if err != nil {
					return all, err
				}
				all = append(all, v)
			}
			return all, nil
		})
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

var (
	errDead = errors.New("the engine has crashed")
	errAway = errors.New("the store is unavailable")
)
