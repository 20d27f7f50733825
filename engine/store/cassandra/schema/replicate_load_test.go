package schema_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/varve/engine/store"
	cassandrastore "varve.dev/varve/engine/store/cassandra"
)

var errMissing = errors.New("it is acknowledged, and missing")

// load continuously writes blocks and reads them.
type load struct {
	t      *testing.T
	st     *cassandrastore.Store
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu           sync.Mutex
	acked        []store.Block
	reads, fails int // fails counts reads that got no answer because nodes are down
}

func startLoad(t *testing.T, st *cassandrastore.Store) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{t: t, st: st, cancel: cancel}
	for range 2 {
		l.ended.Go(func() { repeatedly(ctx, l.write) })
		l.ended.Go(func() { repeatedly(ctx, l.readRandom) })
	}
	t.Cleanup(func() { cancel(); l.ended.Wait() })
	return l
}

// repeatedly calls f until ctx ends, with pauses that leave the nodes time for other work.
func repeatedly(ctx context.Context, f func(context.Context)) {
	tick := time.NewTicker(80 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		f(ctx)
		<-tick.C
	}
}

// write writes a block on one of two tiers. The tables of the two tiers differ in their read
// repair. Some blocks are stored in parts.
func (l *load) write(ctx context.Context) {
	now := time.Now().UnixNano()
	bucket := store.Hour.Of(now)
	if rand.N(2) == 0 {
		bucket = bucket.In(store.Keep1d)
	}
	size := 1 << 10
	if rand.N(50) == 0 {
		size = 300 << 10
	}
	b := store.Block{
		BlockKey: store.BlockKey{PV: fmt.Sprintf("PV-%x", rand.Uint64()), Bucket: bucket, Start: now, N: 1}, End: now, Count: 1, Blob: make([]byte, size),
	}
	if err := l.st.PutBlocks(ctx, b); err != nil {
		return // the outcome of this write is unknown, so the test ignores it
	}
	b.Blob = b.Blob[:1]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = append(l.acked, b)
}

// readRandom reads a random block and checks it. Half of the reads are of the newest or the
// oldest blocks.
func (l *load) readRandom(ctx context.Context) {
	n := l.count()
	if n == 0 {
		return
	}
	i := rand.N(n)
	switch rand.N(4) {
	case 0:
		i = n - 1 - rand.N(min(n, 20))
	case 1:
		i = rand.N(min(n, 100))
	}
	err := l.read(ctx, i)
	if errors.Is(err, errMissing) {
		l.t.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if err != nil {
		l.fails++
	}
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// read reads a block that was acknowledged and checks it.
func (l *load) read(ctx context.Context, i int) error {
	l.mu.Lock()
	want := l.acked[i]
	l.mu.Unlock()
	there := "the read finds no block"
	for got, err := range l.st.Blocks(ctx, want.PV, want.Bucket, want.Start, want.End) {
		switch {
		case errors.Is(err, cassandrastore.ErrTorn):
			there = err.Error()
		case err != nil:
			return err
		case got.N == want.N && len(got.Blob) > 0:
			return nil
		}
	}
	return fmt.Errorf("%s on tier %v, written at %s: %w: %s",
		want.PV, want.Bucket.Tier(), time.Unix(0, want.Start).Format(time.TimeOnly), errMissing, there)
}

// awaitMore waits until the given number of further blocks are acknowledged.
func (l *load) awaitMore(more int) {
	l.t.Helper()
	end := l.count() + more
	retried(l.t, "writing", func() error {
		if n := l.count(); n < end {
			return fmt.Errorf("%d of %d blocks are acknowledged", n, end)
		}
		return nil
	})
}

// stop ends the load and reads all blocks that were acknowledged.
func (l *load) stop() {
	l.t.Helper()
	l.cancel()
	l.ended.Wait()
	l.t.Logf("%d blocks were acknowledged; %d reads, of which %d got no answer", len(l.acked), l.reads, l.fails)
	if missing := l.missing(); missing > 0 {
		l.t.Errorf("of %d acknowledged blocks, %d are missing", len(l.acked), missing)
	}
}

// missing returns the number of acknowledged blocks that a reader does not find.
func (l *load) missing() int {
	l.t.Helper()
	const readers = 8
	var missing atomic.Int64
	var ended sync.WaitGroup
	for first := range readers {
		ended.Go(func() {
			for i := first; i < l.count(); i += readers {
				if l.misses(i) {
					missing.Add(1)
				}
			}
		})
	}
	ended.Wait()
	return int(missing.Load())
}

// misses reports whether a reader does not find a block. It repeats the read until it gets an
// answer.
func (l *load) misses(i int) bool {
	var err error
	for deadline := time.Now().Add(busyWait); time.Now().Before(deadline); {
		if err = l.read(l.t.Context(), i); err == nil || errors.Is(err, errMissing) {
			return err != nil
		}
	}
	l.t.Error(err)
	return false
}
