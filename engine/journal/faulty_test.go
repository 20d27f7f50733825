package journal

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/store"
)

// faulty is a store that keeps rows in order of arrival and fails on request.
type faulty struct {
	boot   func() time.Duration // of the shard journal; may be nil
	mu     sync.Mutex
	fail   func(row *store.JournalRow) error // nil: never; row is nil for claims
	rows   []store.JournalRow
	claims map[store.WriterID]store.Claim
	hung   chan struct{} // while it is open, calls wait for it to close, or for the end of their contexts
	stall  time.Duration // between the writing of a row and the acknowledgement
}

// hang makes calls hang, or lets the hanging calls continue.
func (f *faulty) hang(hangs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if hangs {
		f.hung = make(chan struct{})
	} else {
		close(f.hung)
		f.hung = nil
	}
}

// enter waits while the store hangs.
func (f *faulty) enter(ctx context.Context) error {
	f.mu.Lock()
	hung := f.hung
	f.mu.Unlock()
	if hung == nil {
		return nil
	}
	select {
	case <-hung:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errUnreachable = errors.New("the store is unreachable")

func (f *faulty) setFail(fail func(*store.JournalRow) error) {
	f.mu.Lock()
	f.fail = fail
	f.mu.Unlock()
}

func (f *faulty) check(row *store.JournalRow) error {
	if f.fail == nil {
		return nil
	}
	return f.fail(row)
}

func (f *faulty) Claims(ctx context.Context, _ int) ([]store.Claim, error) {
	if err := f.enter(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []store.Claim{{Epoch: 4}}
	for _, c := range f.claims {
		out = append(out, c)
	}
	return out, f.check(nil)
}

func (f *faulty) PutClaim(ctx context.Context, c store.Claim) error {
	if err := f.enter(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.claims == nil {
		f.claims = map[store.WriterID]store.Claim{}
	}
	f.claims[c.Writer] = c
	return f.check(nil)
}

func (f *faulty) PutJournal(ctx context.Context, r store.JournalRow) error {
	if err := f.enter(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer func() {
		stall := f.stall
		f.mu.Unlock()
		time.Sleep(stall)
	}()
	if err := f.check(&r); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.rows = append(f.rows, r)
	return nil
}

// words returns the values of a PV in all rows, in order.
func (f *faulty) words(t *testing.T, pv string) []uint64 {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []uint64
	for _, row := range f.rows {
		runs, err := Find(row, pv)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			out = append(out, r.Words...)
		}
	}
	return out
}
