package names

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"varve.dev/varve/engine/store"
)

// Store is the part of a store that a Book needs.
type Store interface {
	PutMarks(ctx context.Context, marks ...store.PVMark) error
	Marks(ctx context.Context, pv string, from, to int64) iter.Seq2[store.PVMark, error]
}

const (
	// fresh is how long a view is used before the register is read again.
	fresh = 5 * time.Second
	// overlap is how far before the latest fact the register is read again, because writes of several engines may overlap.
	overlap = int64(time.Minute)
	// end is after all times of facts.
	end = int64(1) << 62
)

// Book reads the register. Its methods are safe for concurrent use.
type Book struct {
	store Store
	log   *slog.Logger
	view  atomic.Pointer[held]
	turn  chan struct{} // a semaphore of capacity 1, held while the register is read; never closed

	// The holder of turn uses these fields.
	facts  map[string]Fact // also empty ones
	since  map[string]int64
	latest int64
}

// held is a view, and when it was read.
type held struct {
	*View
	at time.Time
}

// NewBook returns a book of the register in a store.
func NewBook(st Store, log *slog.Logger) *Book {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Book{store: st, log: log, turn: make(chan struct{}, 1), facts: map[string]Fact{}, since: map[string]int64{}}
}

// View returns the names, at most a few seconds old. If the register cannot be read, View returns the latest names that were
// read, or an error if there are none.
func (b *Book) View(ctx context.Context) (*View, error) {
	h := b.view.Load()
	if h != nil && time.Since(h.at) < fresh {
		return h.View, nil
	}
	if h != nil { // one request reads; the others do not wait
		select {
		case b.turn <- struct{}{}:
		default:
			return h.View, nil
		}
	} else {
		select {
		case b.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-b.turn }()
	if now := b.view.Load(); now != h { // it was read while this request waited
		return now.View, nil
	}
	v, err := b.read(ctx)
	if err != nil && h != nil {
		b.log.Warn("reading the names of PVs failed; the names that were read before stay in use", "err", err)
		b.view.Store(&held{h.View, time.Now()})
		return h.View, nil
	}
	return v, err
}

// Refresh reads the register now.
func (b *Book) Refresh(ctx context.Context) (*View, error) {
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-b.turn }()
	return b.read(ctx)
}

// read reads the facts that may be new. The caller holds turn.
func (b *Book) read(ctx context.Context) (*View, error) {
	changed := false
	for m, err := range b.store.Marks(ctx, Register, max(0, b.latest-overlap), end) {
		if err != nil {
			return nil, fmt.Errorf("reading the names of PVs: %w", err)
		}
		f, err := decode(&m)
		if err != nil {
			b.log.Warn("names of a PV are ignored: this program cannot read them", "err", err)
			continue
		}
		at, known := b.since[f.PV]
		if known && at >= m.Time {
			continue
		}
		b.facts[f.PV], b.since[f.PV], b.latest, changed = f, m.Time, max(b.latest, m.Time), true
	}
	h := b.view.Load()
	if h == nil || changed {
		facts := maps.Clone(b.facts)
		maps.DeleteFunc(facts, func(_ string, f Fact) bool { return f.Empty() })
		h = &held{View: newView(facts, b.since, b.latest)}
	}
	b.view.Store(&held{h.View, time.Now()})
	return h.View, nil
}

// put appends facts to the register. Their times are later than now, in ns since 1970, and than those of all facts that were
// read. Other books read only what is not long before the latest fact. So put appends the facts again if that takes long and
// other facts are stored meanwhile. The caller is the only one that writes as writer w.
func (b *Book) put(ctx context.Context, w store.WriterID, now int64, facts []Fact) error {
	v, err := b.Refresh(ctx)
	for range maxLate {
		if err != nil {
			return err
		}
		first := max(now, v.latest+1) + 1
		if err := b.append(ctx, w, first, facts); err != nil {
			return err
		}
		if v, err = b.Refresh(ctx); err == nil && v.latest-first < overlap/2 {
			return nil
		}
	}
	return cmp.Or(err, errLate)
}

// maxLate is how often facts are appended, at most.
const maxLate = 3

var errLate = errors.New("storing names of PVs takes so long that readers may not find them")

// append appends facts to the register, with a time for each, from first on.
func (b *Book) append(ctx context.Context, w store.WriterID, first int64, facts []Fact) error {
	marks := make([]store.PVMark, len(facts))
	for i := range facts {
		marks[i] = facts[i].mark(first+int64(i), w)
	}
	for some := range slices.Chunk(marks, batch) {
		if err := b.store.PutMarks(ctx, some...); err != nil {
			return fmt.Errorf("storing names of PVs: %w", err)
		}
	}
	return nil
}

// batch is the maximum number of facts that are written at a time.
const batch = 256
