package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/retry"
)

// ErrNotOpen is wrapped by the errors of a Pending store that is not open yet.
var ErrNotOpen = errors.New("the store is not open yet")

// Pending is a store that is being opened in the background. Until it is open, every call
// fails with ErrNotOpen. An engine can therefore capture into memory while its store is
// unreachable. Its shardJournals retry their writes as in any other outage. The methods of
// Store are in pending_methods.go, which hack/pending generates.
type Pending struct {
	real    atomic.Pointer[Store]
	explain func(error) string
	state   atomic.Pointer[string]
	cancel  context.CancelFunc
	opening sync.WaitGroup
}

var (
	_ Store       = (*Pending)(nil)
	_ clock.Store = (*Pending)(nil)
)

// Bounds of the delay between two attempts to open a store, before jitter is added.
const (
	firstPause   = 150 * time.Millisecond
	longestPause = 3750 * time.Millisecond
)

// OpenLater calls open until it succeeds or Close is called. explain turns an error of open
// into a State. It must return the same text for the same cause.
func OpenLater(open func(ctx context.Context) (Store, error), explain func(error) string) *Pending {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pending{explain: explain, cancel: cancel}
	p.setState("Opening: the store was not reached yet")
	p.opening.Go(func() { p.open(ctx, open) })
	return p
}

func (p *Pending) open(ctx context.Context, open func(ctx context.Context) (Store, error)) {
	for b := (retry.Backoff{Min: firstPause, Max: longestPause, Spread: 1. / 3}); ; {
		st, err := open(ctx)
		if err == nil {
			p.real.Store(&st)
			p.setState("")
			return
		}
		p.setState(p.explain(err))
		if !b.Wait(ctx) {
			return
		}
	}
}

func (p *Pending) setState(state string) { p.state.Store(&state) }

// State returns why the store is not open. It returns an empty text once the store is open.
func (p *Pending) State() string { return *p.state.Load() }

// store returns the open store, or an error with the reason why it is not open.
func (p *Pending) store() (Store, error) {
	if st := p.real.Load(); st != nil {
		return *st, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrNotOpen, p.State())
}

// sequence calls f with the open store and yields the elements of its sequence.
func sequence[T any](p *Pending, f func(Store) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		st, err := p.store()
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		f(st)(yield)
	}
}

// Clocks asks the servers of the store for their clocks. It returns nothing if the store has none.
func (p *Pending) Clocks(ctx context.Context, boot func() time.Duration) ([]clock.Reading, error) {
	st, err := p.store()
	if err != nil {
		return nil, err
	}
	if st, ok := st.(clock.Store); ok {
		return st.Clocks(ctx, boot)
	}
	return nil, nil
}

// Now returns the time by the clocks of the store, in ns since 1970.
func (p *Pending) Now() int64 {
	if st := p.real.Load(); st != nil {
		if st, ok := (*st).(clock.Store); ok {
			return st.Now()
		}
	}
	return time.Now().UnixNano()
}

// Close ends the attempts to open the store. If the store is open, Close closes it.
func (p *Pending) Close() error {
	p.cancel()
	p.opening.Wait()
	if st := p.real.Load(); st != nil {
		return (*st).Close()
	}
	return nil
}
