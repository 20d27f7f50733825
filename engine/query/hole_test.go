package query

import (
	"context"
	"iter"
	"sync"
	"testing"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// moving is a store that seals all samples just before a certain call of the reader. The
// samples move from memory and journal to blocks in buckets of another size.
type moving struct {
	store.Store
	mu        sync.Mutex // some calls are made at the same time
	calls, at int
	seal      func()
}

func (m *moving) step() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls == m.at {
		m.seal()
	}
	m.calls++
}

func (m *moving) Channel(ctx context.Context, pv string) (store.Channel, bool, error) {
	m.step()
	return m.Store.Channel(ctx, pv)
}

func (m *moving) Claims(ctx context.Context, shard int) ([]store.Claim, error) {
	m.step()
	return m.Store.Claims(ctx, shard)
}

func (m *moving) JournalWhere(ctx context.Context, shard int, w store.WriterID, after, through store.Position, wanted func([]byte) bool) iter.Seq2[store.JournalRow, error] {
	m.step()
	return m.Store.JournalWhere(ctx, shard, w, after, through, wanted)
}

func (m *moving) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (store.Block, bool, error) {
	m.step()
	return m.Store.LastBlock(ctx, pv, b, at)
}

func (m *moving) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	m.step()
	return m.Store.Blocks(ctx, pv, b, from, to)
}

// TestReadMissesNothingWhileSamplesAreSealed checks that a read misses no sample, regardless
// of when a sealer moves samples.
func TestReadMissesNothingWhileSamplesAreSealed(t *testing.T) {
	const want = "0:0 1:1 2:2 3:3 "
	for at := 0; ; at++ {
		a := newArchive(t, 1)
		a.directory(store.Channel{Shards: []int{home()}})
		a.block(writer(1), store.Day.Of(epoch), float(epoch, 0))
		a.reader() // writes the block
		held, dead := float(epoch+1, 1), float(epoch+2, 2)
		a.row(writer(1), home(), held)
		a.row(writer(2), home(), dead)
		a.row(writer(3), home(), float(epoch+3, 3)) // stays unsealed
		a.held = Held{Known: true, Runs: []*sample.Run{run([]typed{held})}, Covers: []store.WriterID{writer(1)}}

		m := &moving{Store: a.store, at: at}
		m.seal = func() {
			a.store = m.Store
			a.block(writer(1), store.Hour.Of(epoch), held, dead)
			a.check(a.store.PutBlocks(t.Context(), a.ready...))
			for w := range byte(2) {
				a.check(a.store.Seal(t.Context(), home(), writer(w+1), store.At(1, 1)))
			}
			a.dropClaim(writer(2), home())
			a.held.Runs = nil
		}
		a.store = m
		if got := brief(a.read(epoch, epoch+10, Options{})); got != want {
			t.Errorf("if samples are sealed before call %d of the store, a read yields %s, want %s", at, got, want)
		}
		if m.calls <= at {
			if at < 5 {
				t.Fatalf("a read makes only %d calls of the store", at)
			}
			return
		}
	}
}
