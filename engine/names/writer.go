package names

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/engine/retry"
	"varve.dev/varve/engine/store"
)

// Writer writes the facts of the PVs that an engine captures. It has one goroutine, which runs Run.
type Writer struct {
	book *Book
	id   store.WriterID
	now  func() int64
	log  *slog.Logger
	wake chan struct{} // holds a token if a target waits; never closed

	writing sync.Mutex // held while facts are written
	mu      sync.Mutex
	target  *target // nil before the first one
	written bool    // the register has the target
}

// checkEvery is the time after which the register is compared again with a target that was written: an engine with an older
// assignment may have written another fact since then.
const checkEvery = 10 * time.Minute

// target is what the register must say.
type target struct {
	named    map[string]Fact
	captured func(pv string) bool
}

// NewWriter returns a writer. now returns the time in ns since 1970.
func NewWriter(b *Book, id store.WriterID, now func() int64, log *slog.Logger) *Writer {
	return &Writer{book: b, id: id, now: now, log: log, wake: make(chan struct{}, 1)}
}

// Set sets the names of all captured PVs that have other names. captured reports whether a PV is captured. A captured PV
// that is not among the named ones has no other names any longer. Set does not block.
func (w *Writer) Set(named map[string]Fact, captured func(pv string) bool) {
	w.mu.Lock()
	w.target, w.written = &target{named, captured}, false
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run writes targets until ctx ends. Then it tries once more to write the last one, until hard ends.
func (w *Writer) Run(ctx, hard context.Context) {
	again := time.NewTicker(checkEvery)
	defer again.Stop()
	for {
		select {
		case <-w.wake:
			w.write(ctx)
		case <-again.C:
			w.mu.Lock()
			w.written = false
			w.mu.Unlock()
			w.write(ctx)
		case <-ctx.Done():
			if err := w.try(hard); err != nil {
				w.report(err) // the next start stores them
			}
			return
		}
	}
}

// write writes the target until that succeeds or ctx ends.
func (w *Writer) write(ctx context.Context) {
	for b := (retry.Backoff{Min: 100 * time.Millisecond, Max: 5 * time.Second}); ; {
		err := w.try(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		w.report(err)
		if !b.Wait(ctx) {
			return
		}
	}
}

// report logs why facts are not stored. Most archives have none, and other parts report that the store is away.
func (w *Writer) report(err error) {
	w.mu.Lock()
	t := w.target
	w.mu.Unlock()
	if t != nil && len(t.named) > 0 {
		w.log.Warn("storing names of PVs failed; it is tried again", "err", err)
	}
}

// try writes the facts of the target that the register lacks. The target is written if that succeeds and there is no newer
// one.
func (w *Writer) try(ctx context.Context) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	t, written := w.target, w.written
	w.mu.Unlock()
	if t == nil || written {
		return nil
	}
	v, err := w.book.Refresh(ctx)
	if err != nil {
		return err
	}
	if facts := t.missing(v); len(facts) > 0 {
		if err := w.book.put(ctx, w.id, w.now(), facts); err != nil {
			return err
		}
		w.log.Info("former names and aliases stored", "pvs", len(facts))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.target == t {
		w.written = true
	}
	return nil
}

// missing returns the facts that a view lacks, sorted by PV. An alias that is now captured as a PV of its own is taken from
// the PV that had it: that PV is in no group any longer.
func (t *target) missing(v *View) (facts []Fact) {
	for pv := range t.named {
		want, has := t.named[pv], v.Of(pv)
		if !want.Same(&has) {
			facts = append(facts, want)
		}
	}
	for f := range v.All() {
		switch _, named := t.named[f.PV]; {
		case named:
		case t.captured(f.PV):
			facts = append(facts, Fact{PV: f.PV})
		case slices.ContainsFunc(f.Aliases, t.captured):
			f.Aliases = slices.DeleteFunc(slices.Clone(f.Aliases), t.captured)
			facts = append(facts, f)
		}
	}
	slices.SortFunc(facts, func(a, b Fact) int { return cmp.Compare(a.PV, b.PV) })
	return facts
}

// Forget removes the facts of PVs whose data is deleted.
func (w *Writer) Forget(ctx context.Context, pvs []string) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	v, err := w.book.Refresh(ctx)
	if err != nil {
		return err
	}
	var facts []Fact
	for _, pv := range pvs {
		if f := v.Of(pv); !f.Empty() {
			facts = append(facts, Fact{PV: pv})
		}
	}
	if len(facts) == 0 {
		return nil
	}
	if err := w.book.put(ctx, w.id, w.now(), facts); err != nil {
		return fmt.Errorf("removing names of deleted PVs: %w", err)
	}
	return nil
}
