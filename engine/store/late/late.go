// Package late is a store that is opened when it can be:
//
//	open, again and again ──▶ store
//	calls before: the error of the latest try; after: the store
//
// So an engine that starts while the database is away captures at once, and
// holds in memory what it can not store yet.
package late

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/store"
)

// Store is a store.Store that may not be open yet.
type Store struct {
	opened atomic.Pointer[store.Store]
	why    atomic.Pointer[error] // not open yet
	end    context.CancelFunc
	done   sync.WaitGroup
}

var _ store.Store = (*Store)(nil)

// ErrNotOpen is wrapped by the errors of all calls before the store is open.
var ErrNotOpen = errors.New("the store is not open yet")

// Open tries to open a store, and again every so often until it succeeds or the
// Store is closed. Failed is told of each try that fails; it must not block.
func Open(open func(context.Context) (store.Store, error), every time.Duration, failed func(error)) *Store {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Store{end: cancel}
	s.refuse(nil)
	s.done.Go(func() {
		for {
			st, err := open(ctx)
			if err == nil {
				s.opened.Store(&st)
				return
			}
			if ctx.Err() != nil {
				return
			}
			s.refuse(err)
			failed(err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(every):
			}
		}
	})
	return s
}

func (s *Store) refuse(cause error) {
	err := ErrNotOpen
	if cause != nil {
		err = fmt.Errorf("%w: %w", ErrNotOpen, cause)
	}
	s.why.Store(&err)
}

// get returns the store, or why there is none yet.
func (s *Store) get() (store.Store, error) {
	if st := s.opened.Load(); st != nil {
		return *st, nil
	}
	return nil, *s.why.Load()
}

// Ready returns why the store is not open yet; nil if it is.
func (s *Store) Ready() error {
	_, err := s.get()
	return err
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.end()
	s.done.Wait()
	if st := s.opened.Load(); st != nil {
		return (*st).Close()
	}
	return nil
}

// do calls the store, if it is open.
func (s *Store) do(f func(store.Store) error) error {
	st, err := s.get()
	if err != nil {
		return err
	}
	return f(st)
}

// sequence asks the store for a sequence, if it is open when the first row is
// asked for.
func sequence[T any](s *Store, f func(store.Store) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		st, err := s.get()
		if err != nil {
			yield(*new(T), err)
			return
		}
		f(st)(yield)
	}
}
