package spool

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/store"
)

// fill puts rows of 10 samples in shards 0 to 3, in the order of rising values.
func (b *fixture) fill(from, to int) {
	b.t.Helper()
	var rows []journal.SpoolRow
	for i := from; i < to; i += 10 {
		for shard := range 4 {
			rows = append(rows, newRow(shard, i, i+10, pvOf(shard)))
		}
	}
	b.put(rows...)
}

// checkSent fails the test unless the store has n samples of shards 0 to 3, in order.
func (a *archive) checkSent(t *testing.T, n int) {
	t.Helper()
	for shard := range 4 {
		if got := a.words(t, shard, pvOf(shard)); !slices.Equal(got, count(0, n)) {
			t.Errorf("%d samples of shard %d in the store, or not in order, instead of %d", len(got), shard, n)
		}
	}
}

// TestAStoreThatFailsNowAndThenGetsAllRowsInOrder sends rows to a store that refuses one in
// twenty requests at random.
func TestAStoreThatFailsNowAndThenGetsAllRowsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, to := start(t, config(vfs.NewMem())), newArchive()
		rng := rand.New(rand.NewPCG(1, 1))
		to.setFail(func(int) error {
			if rng.IntN(20) == 0 {
				return errUnreachable
			}
			return nil
		})
		b.drain(to)
		for i := range 20 {
			b.fill(100*i, 100*i+100)
			advance(time.Second)
		}
		advance(5 * time.Minute)
		to.checkSent(t, 2000)
		if to.open() != 0 || b.Counts().Waiting != 0 {
			t.Errorf("%d claims are open, %+v", to.open(), b.Counts())
		}
	})
}

// TestNoRowIsSentBeforeItsClaim checks that the drainer sends rows after their claim, because
// readers find rows only by their claims.
func TestNoRowIsSentBeforeItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, to := start(t, config(vfs.NewMem())), newArchive()
		to.refuse = 2
		b.fill(0, 100)
		b.drain(to)
		advance(2 * time.Minute)
		to.checkSent(t, 100)
		if to.hidden > 0 {
			t.Errorf("%d of %d rows had no claim when they were stored", to.hidden, to.puts)
		}
	})
}

// TestAnUnreachableShardDelaysOnlyItsOwnRows checks that a shard whose rows the store refuses
// does not delay the rows of other shards.
func TestAnUnreachableShardDelaysOnlyItsOwnRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, to := start(t, config(vfs.NewMem())), newArchive()
		b.fill(0, 100)
		to.setFail(func(shard int) error {
			if shard == 2 {
				return errUnreachable
			}
			return nil
		})
		b.drain(to)
		advance(2 * time.Minute)
		if shards := b.Shards(); !slices.Equal(shards, []int{2}) {
			t.Errorf("rows of the shards %v wait", shards)
		}
		to.setFail(nil)
		advance(2 * time.Minute)
		to.checkSent(t, 100)
	})
}

// TestAProcessKilledWhileSendingSendsNothingTwice checks that the next process sends rows
// again under the same positions.
func TestAProcessKilledWhileSendingSendsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, to := vfs.NewMem(), newArchive()
		to.slow = 10 * time.Millisecond
		b := start(t, config(fs))
		b.fill(0, 1000)
		for range 4 {
			stop := b.drain(to)
			advance(100 * time.Millisecond)
			stop()
			b.stop() // the disk has no record of the progress
			b = start(t, config(fs))
			if n := b.Counts().Waiting; n != 4000 {
				t.Errorf("%d samples are found", n)
			}
		}
		b.drain(to)
		advance(time.Minute)
		to.checkSent(t, 1000)
		if to.puts <= 400 {
			t.Errorf("only %d rows were sent, so none was sent again", to.puts)
		}
		writers := map[store.WriterID]bool{}
		for shard := range 4 {
			maps.Insert(writers, maps.All(map[store.WriterID]bool{to.rows[shard][0].Writer: true}))
		}
		if len(writers) != 1 || to.open() != 0 {
			t.Errorf("%d writers, %d open claims", len(writers), to.open())
		}
	})
}

// TestRowsOfAWriterTakenForDeadAreFound tests an engine that takes the writer for dead while
// it sends, and drops the claim at the worst moment: when the last rows are sent. Readers must
// still find the rows.
func TestRowsOfAWriterTakenForDeadAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, to := start(t, config(vfs.NewMem())), newArchive()
		b.fill(0, 100)
		sent := 0
		to.slow = time.Millisecond
		to.setFail(func(int) error {
			if sent++; sent > 20 {
				return errUnreachable
			}
			return nil
		})
		b.drain(to)
		advance(10 * time.Minute)
		owner := b.segments[0].writer
		if !b.Owns(owner) || b.Owns(store.NewWriter()) {
			t.Error("the spool does not own its writer IDs")
		}
		drop := func() {
			to.mu.Lock()
			defer to.mu.Unlock()
			for shard := range 4 {
				delete(to.claims[shard], owner)
			}
		}
		drop()
		to.setFail(nil)
		advance(20 * time.Second)
		if n := b.Counts().Waiting; n != 0 || to.open() != 0 {
			t.Fatalf("%d samples wait", n)
		}
		to.checkSent(t, 100)
		drop() // the other engine read the claims earlier, and was slow
		advance(2 * linger)
		to.checkSent(t, 100)
		if names := files(t, b.fs); len(names) > 0 || to.open() != 0 || b.Owns(owner) {
			t.Errorf("the files %v are left", names)
		}
	})
}

// TestLiveRowsAreNotStarved checks that only few spooled rows are sent at the same time, so
// that new rows reach the store.
func TestLiveRowsAreNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, to := start(t, config(vfs.NewMem())), newArchive()
		for shard := range 64 {
			b.put(newRow(shard, 0, 10, "A"), newRow(shard, 10, 20, "A"))
		}
		to.slow = 20 * time.Millisecond
		b.drain(to)
		advance(10 * time.Second)
		if to.most > parallel || to.puts != 128 {
			t.Errorf("%d rows of %d were under way at once", to.most, to.puts)
		}
	})
}

// TestReadersSeeEverySample checks that a reader finds all samples while they move from the
// spool to the store.
func TestReadersSeeEverySample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, to := start(t, config(vfs.NewMem())), newArchive()
		to.slow = time.Millisecond
		stop := b.drain(to)
		sent := 0
		for range 200 {
			b.fill(sent, sent+50)
			sent += 50
			advance(rand.N(30 * time.Millisecond))
			found := map[int]bool{}
			for _, v := range b.held(1, pvOf(1)) {
				found[v] = true
			}
			advance(rand.N(5 * time.Millisecond))
			for _, v := range to.words(t, 1, pvOf(1)) {
				found[v] = true
			}
			if len(found) != sent {
				t.Fatalf("%d samples of %d are found", len(found), sent)
			}
		}
		stop()
	})
}
