package seal

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/store"
)

// claimStore is a store that has claims and no rows.
type claimStore struct {
	Store
	mu     sync.Mutex
	claims map[store.WriterID]store.Claim
	reads  map[store.WriterID]int // number of journal reads by writer
}

func (l *claimStore) Claims(context.Context, int) ([]store.Claim, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []store.Claim
	for _, c := range l.claims {
		out = append(out, c)
	}
	return out, nil
}

func (l *claimStore) PutClaim(_ context.Context, c store.Claim) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims[c.Writer] = c
	return nil
}

func (l *claimStore) DropClaim(_ context.Context, c store.Claim) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.claims, c.Writer)
	return nil
}

func (l *claimStore) holds(w store.WriterID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.claims[w]
	return ok
}

func (l *claimStore) Tiers(context.Context) ([]store.Tier, error) {
	return []store.Tier{store.Forever}, nil
}

func (l *claimStore) JournalTTL(context.Context) (time.Duration, error) { return 0, nil }

func (l *claimStore) PutJournal(context.Context, store.JournalRow) error { return nil }

func (l *claimStore) Seal(context.Context, int, store.WriterID, store.Position) error { return nil }

func (l *claimStore) Journal(_ context.Context, _ int, w store.WriterID, _, _ store.Position) iter.Seq2[store.JournalRow, error] {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads[w]++
	return func(func(store.JournalRow, error) bool) {}
}

// TestOnlyADeadWriterIsForgotten checks that the sealer drops the claim of a writer that died
// or closed, and no other claim. The clocks of the other writers are an hour behind.
func TestOnlyADeadWriterIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alive, dying, closed := store.WriterID{1}, store.WriterID{2}, store.WriterID{3}
		claims := &claimStore{claims: map[store.WriterID]store.Claim{
			alive: {Writer: alive}, dying: {Writer: dying}, closed: {Writer: closed, Closed: true},
		}, reads: map[store.WriterID]int{}}
		mem := journal.NewMemory(1 << 20)
		shardJournal := journal.NewShardJournal(0, store.WriterID{9}, &journal.Config{Store: claims, Flush: time.Second, RowBytes: 1,
			Memory: mem, Metrics: journal.NewMetrics(prometheus.NewRegistry(), mem), Log: slog.New(slog.DiscardHandler)})
		var deaths []int64
		begun := time.Now()
		shard := NewShard(shardJournal, &Config{Store: claims, Every: 365 * 24 * time.Hour, Memory: mem, Slots: make(chan struct{}, 1),
			Silence: 15 * time.Second, Ours: func(store.WriterID) bool { return false }, Died: func(_ context.Context, _ int, from, _ int64) error { deaths = append(deaths, from); return nil },
			Metrics: NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { shardJournal.Run(ctx, t.Context()) })
		wg.Go(func() { shard.Run(ctx) })

		behind := int64(time.Hour) // lag of the other writers' clocks
		for i := range 12 {
			sign := time.Now().UnixNano() - behind
			_ = claims.PutClaim(ctx, store.Claim{Writer: alive, Alive: sign})
			if i < 4 {
				_ = claims.PutClaim(ctx, store.Claim{Writer: dying, Alive: sign})
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if !claims.holds(alive) {
				t.Fatalf("after %v the claim of the living writer is dropped", time.Since(begun))
			}
			if claims.holds(closed) {
				t.Fatal("the claim of the closed writer is not dropped")
			}
			if i == 5 && !claims.holds(dying) {
				t.Fatal("a claim is dropped 10 s after the last sign of life, want 15 s")
			}
		}
		if claims.holds(dying) {
			t.Error("the claim of the dead writer is not dropped after 40 s")
		}
		if claims.reads[alive] != 0 || claims.reads[dying] == 0 || claims.reads[closed] == 0 {
			t.Errorf("journal reads by writer before the first checkpoint: %v; want some of the dead and the closed writer, and none of the living one", claims.reads)
		}
		if want := []int64{begun.Add(15*time.Second).UnixNano() - behind}; !slices.Equal(deaths, want) {
			t.Errorf("deaths are marked from %v, want one death, from the last sign of life: %v", deaths, want)
		}
		cancel()
		wg.Wait()
	})
}
