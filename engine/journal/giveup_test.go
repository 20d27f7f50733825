package journal

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// TestGivesUpRowsThatAnotherEngineSealed checks that GiveUp drops only whole rows, and only
// sealed rows.
func TestGivesUpRowsThatAnotherEngineSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShardJournal(t, 1<<20)
		defer b.stop()
		often, seldom := b.Open("often", sample.Int64), b.Open("seldom", sample.Int64)
		after := map[store.Position]int{} // samples of "often" in the rows up to a position
		var positions []store.Position
		n := 0
		for range 4 * 60 * 2 { // four partitions
			for range 5 {
				b.Append(often, sample.Int64, number(n))
				n++
			}
			if n%1000 == 5 {
				b.Append(seldom, sample.Int64, number(n))
			}
			if err := b.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			testclock.Advance(500 * time.Millisecond)
			if at := b.Acked(); after[at] == 0 {
				positions, after[at] = append(positions, at), n
			}
		}
		full := b.mem.Used()
		left := func(pv string) (words []uint64) {
			for _, r := range b.Recent(pv, math.MinInt64, math.MaxInt64) {
				words = append(words, r.Words...)
			}
			return words
		}
		for i := 0; i < len(positions); i += 7 {
			at := positions[i]
			b.GiveUp(at)
			got := left("often")
			if d := cmp.Diff(upTo(n-len(got), n), got); d != "" {
				t.Fatalf("memory does not hold exactly the latest samples:\n%s", d)
			}
			given := n - len(got)
			if given > after[at] {
				t.Fatalf("%d samples were given up, only %d are sealed", given, after[at])
			}
			if late := after[at] - given; late > 5*60*2+5 {
				t.Fatalf("%d sealed samples are still in memory: more than a partition", late)
			}
		}
		last := positions[len(positions)-1]
		b.GiveUp(last)
		b.Append(often, sample.Int64, number(n))
		testclock.Advance(time.Second)
		b.GiveUp(last) // no further row is sealed
		if got := left("often"); !slices.Equal(got, []uint64{uint64(n)}) {
			t.Errorf("memory holds %v, want the sample after the last sealed row", got)
		}
		if got := left("seldom"); len(got) != 0 {
			t.Errorf("memory holds %v, want nothing", got)
		}
		if now := b.mem.Used(); now > full/10 {
			t.Errorf("%d bytes of %d are still in use", now, full)
		}
		// The remaining sample is sealed by this engine, as usual.
		r := sample.Run{Type: sample.Int64}
		often.Sealed(often.Unsealed(&r, 1<<20))
		if r.Len() != 1 || len(b.Recent("often", math.MinInt64, math.MaxInt64)) != 0 {
			t.Errorf("%d samples were left to seal, want 1", r.Len())
		}
	})
}

// TestSyncWaitsForTheStoreUntilTheJournalEnds checks that Sync waits for the store, and fails
// once the shard journal has ended.
func TestSyncWaitsForTheStoreUntilTheJournalEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShardJournal(t, 1<<20)
		h := b.Open("a", sample.Int64)
		testclock.Advance(time.Second)
		b.store.setFail(func(*store.JournalRow) error { return errUnreachable })
		b.Append(h, sample.Int64, number(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := b.Sync(ctx); !errors.Is(err, context.DeadlineExceeded) || !b.Failing() {
			t.Errorf("while the store is unreachable: %v", err)
		}
		b.store.setFail(nil)
		if err := b.Sync(t.Context()); err != nil || b.Unsaved() != 0 || b.Failing() {
			t.Errorf("when it is back: %v, %d samples unsaved", err, b.Unsaved())
		}
		b.stop()
		if err := b.Sync(t.Context()); err == nil {
			t.Error("Sync succeeds after the end")
		}
	})
}

// TestEndsAtOnceWithoutAClaim checks that a shard journal ends at once if it never reached the
// store and holds no samples. It has no claim to close.
func TestEndsAtOnceWithoutAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startShardJournal(t, 1<<20, nil, &faulty{fail: refuse})
		testclock.Advance(time.Second)
		begun := time.Now()
		if n := b.stop(); n != 0 || time.Since(begun) > 0 {
			t.Errorf("%d samples unsaved, after %v", n, time.Since(begun))
		}
		if len(b.store.claims) != 0 {
			t.Errorf("claims %v", b.store.claims)
		}
	})
}
