package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// blockless is a store that can refuse blocks while it accepts journal rows.
type blockless struct {
	store.Store
	refuses atomic.Bool
}

func (b *blockless) PutBlocks(ctx context.Context, blocks ...store.Block) error {
	if b.refuses.Load() {
		return errors.New("the block tables are not available")
	}
	return b.Store.PutBlocks(ctx, blocks...)
}

// TestMemoryIsBoundedWhileBlocksAreRefused sends several times more samples than memory holds
// while no block can be written. Memory stays within its limit, no sample is dropped, and reads
// find all samples: before, while and after the blocks are written.
func TestMemoryIsBoundedWhileBlocksAreRefused(t *testing.T) { boundMemory(t, 16) }

// TestLong_MemoryIsBoundedWhileBlocksAreRefused is TestMemoryIsBoundedWhileBlocksAreRefused with more samples.
func TestLong_MemoryIsBoundedWhileBlocksAreRefused(t *testing.T) { boundMemory(t, 40) }

func boundMemory(t *testing.T, steps int) {
	const limit, step = 1 << 20, 5000
	st := &blockless{Store: openStore(t)}
	st.refuses.Store(true)
	l := launch(t, st, &taps{}, Options{Checkpoint: 20 * time.Millisecond, Exclusive: true, Memory: limit})
	l.assign("A", "B")
	released := func() bool {
		l.mu.RLock()
		defer l.mu.RUnlock()
		for h := range l.allLocked {
			if _, _, some := h.journal.Released(); some {
				return true
			}
		}
		return false
	}
	sent := 0
	check := func(when string) {
		t.Helper()
		if got := values(t, l.reader, "A"); !slices.Equal(got, count(0, sent)) {
			t.Fatalf("%s: %d samples read, %d sent: %s", when, len(got), sent, firstGap(got))
		}
	}
	for range steps {
		l.source.send("A", sent, sent+step)
		l.source.send("B", sent, sent+step)
		sent += step
		eventually(t, "samples are acknowledged", func() bool { return l.Unsaved() == 0 })
		if used := l.memory.Used(); used > limit*5/4 {
			t.Fatalf("%d bytes of %d are used", used, limit)
		}
		check("while blocks are refused")
	}
	if !released() {
		t.Fatal("no samples left memory")
	}
	st.refuses.Store(false)
	eventually(t, "all samples are in blocks", func() bool {
		check("while blocks are written")
		return !released() && l.memory.Used() < limit/4
	})
	check("after blocks were written")
	if s := l.Summary(); s.Dropped[sample.Overflow] != 0 || s.Stored != uint64(2*sent) {
		t.Errorf("summary: %+v", s)
	}
}
