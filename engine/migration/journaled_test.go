package migration

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/varve/engine/layout/layouttest"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/store"
)

// dayTTL is a store whose journal rows expire after a day, as in Cassandra.
type dayTTL struct{ store.Store }

func (dayTTL) JournalTTL(context.Context) (time.Duration, error) { return 24 * time.Hour, nil }

func newTestJournaled(t *testing.T, st store.Store) *journaled {
	t.Helper()
	opts := &Options{Store: st, Log: slog.New(slog.DiscardHandler)}
	j, err := newJournaled(t.Context(), opts, func() int64 { return time.Now().UnixNano() }, new(atomic.Int64))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.close)
	return j
}

// TestALongImportPublishesEarlySamples adds a sample of a shard, and then imports other shards for six hours. The rows of
// the sample must not expire meanwhile: engines must see them after some minutes.
func TestALongImportPublishesEarlySamples(t *testing.T) {
	j := newTestJournaled(t, dayTTL{newStore(t)})
	var sinceBoot time.Duration
	j.boot = func() time.Duration { return sinceBoot }
	q := j.queue(0)
	if err := q.add(newAccount("A", j), layouttest.Numbers(5)); err != nil {
		t.Fatal(err)
	}
	published := func() int {
		if err := q.publishOld(); err != nil {
			t.Fatal(err)
		}
		claims, err := j.store.Claims(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return len(claims)
	}
	if n := published(); n != 0 {
		t.Errorf("%d segments are published at once: readers look through each of them", n)
	}
	if sinceBoot = publishAfter; published() != 1 {
		t.Error("the segment is not published after some minutes")
	}
	if sinceBoot = 6*time.Hour + time.Second; q.publish(nil) != nil {
		t.Error("the import fails after six hours")
	}
}

// TestImportEndsIfSamplesAreSealedAsTheyAreRead settles the last segment of a PV at the moment in which its last sample
// has been read. The import must not wait for the PV after that.
func TestImportEndsIfSamplesAreSealedAsTheyAreRead(t *testing.T) {
	j := newTestJournaled(t, newStore(t))
	for n := range 5000 {
		a := newAccount("A", j)
		a.begin()
		var at sync.WaitGroup
		var finished atomic.Int32
		j.mu.Lock() // as look does
		at.Go(func() { a.finish(func() { finished.Add(1) }) })
		for range n % 50 {
			runtime.Gosched()
		}
		at.Go(func() { a.settle(&outcome{stored: 1}) })
		for range n % 500 {
			runtime.Gosched()
		}
		j.mu.Unlock()
		at.Wait()
		if len(j.accounts) != 0 || finished.Load() != 1 {
			t.Fatalf("try %d: %d PVs are waited for, and the PV was reported %d times", n, len(j.accounts), finished.Load())
		}
	}
}

// TestAnImportChoosesAShardThatIsSealed imports a PV whose samples are in a shard that no engine holds any longer.
func TestAnImportChoosesAShardThatIsSealed(t *testing.T) {
	st := newStore(t)
	home := pvname.Shard("A", 4)
	other := (home + 1) % 4
	if err := st.AddChannel(t.Context(), store.Channel{PV: "A", Shards: []int{other, home + 4}}); err != nil {
		t.Fatal(err)
	}
	m := newImporter(t, Options{Store: st, Engines: true})
	defer m.Close()
	shard := func() int {
		out, err := (&one{Importer: m, name: "A"}).newOutput()
		if err != nil {
			t.Fatal(err)
		}
		return out.(*sealedLater).queue.shard
	}
	if got := shard(); got != home {
		t.Errorf("without engines, the samples go to shard %d, want %d", got, home)
	}
	for _, sealed := range []int{other, home + 4} {
		err := st.PutClaim(t.Context(), store.Claim{Shard: sealed, Writer: store.NewWriter(), Epoch: 1, Sealing: store.FirstTerm})
		if got := shard(); err != nil || got != sealed {
			t.Errorf("the samples go to shard %d, want %d, which an engine seals; %v", got, sealed, err)
		}
	}
}
