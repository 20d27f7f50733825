package journal

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// TestGivesUpWhatOthersSealed drops whole rows only, and none that is not sealed.
func TestGivesUpWhatOthersSealed(t *testing.T) {
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
			for _, r := range b.Recent(pv) {
				words = append(words, r.Words...)
			}
			return words
		}
		for i := 0; i < len(positions); i += 7 {
			at := positions[i]
			b.GiveUp(at)
			got := left("often")
			if d := cmp.Diff(upTo(n-len(got), n), got); d != "" {
				t.Fatalf("memory is not the end of what came:\n%s", d)
			}
			given := n - len(got)
			if given > after[at] {
				t.Fatalf("%d samples are given up, %d are sealed", given, after[at])
			}
			if late := after[at] - given; late > 5*60*2+5 {
				t.Fatalf("%d sealed samples are still held: more than a partition", late)
			}
		}
		last := positions[len(positions)-1]
		b.GiveUp(last)
		b.Append(often, sample.Int64, number(n))
		testclock.Advance(time.Second)
		b.GiveUp(last) // nothing new is sealed
		if got := left("often"); !slices.Equal(got, []uint64{uint64(n)}) {
			t.Errorf("held are %v, want what came after the last sealed row", got)
		}
		if got := left("seldom"); len(got) != 0 {
			t.Errorf("held are %v", got)
		}
		if now := b.mem.Used(); now > full/10 {
			t.Errorf("%d bytes of %d are taken", now, full)
		}
		// What is left is sealed here, as if nothing had happened.
		r := sample.Run{Type: sample.Int64}
		often.Sealed(often.Unsealed(&r, 1<<20))
		if r.Len() != 1 || len(b.Recent("often")) != 0 {
			t.Errorf("%d samples were left to seal", r.Len())
		}
	})
}

// Sync waits for the store, and for nothing once the shardJournal has ended.
func TestSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShardJournal(t, 1<<20)
		h := b.Open("a", sample.Int64)
		testclock.Advance(time.Second)
		b.store.setFail(func(*store.JournalRow) error { return errAway })
		b.Append(h, sample.Int64, number(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := b.Sync(ctx); !errors.Is(err, context.DeadlineExceeded) || !b.Failing() {
			t.Errorf("while the store is away: %v", err)
		}
		b.store.setFail(nil)
		if err := b.Sync(t.Context()); err != nil || b.Unsaved() != 0 || b.Failing() {
			t.Errorf("when it is back: %v, %d samples unsaved", err, b.Unsaved())
		}
		b.stop()
		if err := b.Sync(t.Context()); err == nil {
			t.Error("after the end it succeeds")
		}
	})
}

// A shardJournal that never reached the store and holds nothing has no claim to close.
func TestEndsAtOnceWithoutAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := startShardJournal(t, 1<<20, nil, &faulty{fail: away})
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
