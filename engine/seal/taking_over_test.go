package seal

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// TestDeletionsWhileAClaimHangs lets the write of a claim with a new term hang, as a journal does that cannot
// write its rows to a full disk. The disk guard must be able to delete blocks meanwhile. The deletion of a PV
// needs a leader: it must fail after some time, and succeed once the engine leads.
func TestDeletionsWhileAClaimHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1)
		m.leading = true
		g := m.launch()
		g.shard = NewShard(g.shardJournal, g.shard.cfg)
		ctx, stop := context.WithCancel(t.Context())
		proceed := make(chan struct{})
		_ = m.st.with(func() { m.st.claimed = func() { <-proceed } })
		var leading sync.WaitGroup
		leading.Go(func() { g.shard.Run(ctx) })
		synctest.Wait()

		now := time.Now()
		old := store.Channel{PV: "B", Starts: []store.Bucket{store.Day.Of(now.Add(-240 * time.Hour).UnixNano())}}
		limited, done := context.WithTimeout(t.Context(), 2*claimWait)
		defer done()
		if _, _, err := g.shard.DropBefore(limited, old, math.MinInt64, now.Add(-48*time.Hour).UnixNano()); err != nil {
			t.Errorf("after %v, the disk guard gets %v", time.Since(now), err)
		}
		now = time.Now()
		if err := g.shard.Delete(t.Context(), []string{"B"}); !errors.Is(err, errClaiming) || time.Since(now) != leadWait {
			t.Errorf("after %v, the deletion of a PV returns %v", time.Since(now), err)
		}
		close(proceed)
		testclock.Advance(2 * claimWait)
		if err := g.shard.Delete(t.Context(), []string{"B"}); err != nil {
			t.Errorf("once the engine leads, the deletion of a PV returns %v", err)
		}
		stop()
		leading.Wait()
	})
}

// TestADeletionWaitsForTheFormerLeader deletes a PV while a new leader writes its term and the former leader is
// in the middle of a pass. The deletion seals all rows, so it must wait too: the former leader still writes
// tiles, and does not know the writer that came last.
func TestADeletionWaitsForTheFormerLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1, simLevels...)
		ctx, stop := context.WithCancel(t.Context())
		var leading sync.WaitGroup
		deleted := make(chan error, 1)
		_, next, err := m.passOn(func(next *simEngine) {
			next.shard = NewShard(next.shardJournal, next.shard.cfg)
			leading.Go(func() { deleted <- next.shard.Delete(ctx, []string{"B"}) })
			leading.Go(func() { next.shard.Run(ctx) })
			testclock.Advance(claimsAge / 2)
		})
		if err != nil {
			t.Errorf("the checkpoint of the former leader returns %v", err)
		}
		before, _ := m.samplesInBlocks("A")
		testclock.Advance(formerWait - 2*claimsAge)
		select {
		case <-next.shard.leads:
			t.Error("deletions may begin before the former leader stepped down")
		default:
		}
		if n, _ := m.samplesInBlocks("A"); n != before || len(deleted) > 0 {
			t.Errorf("%d samples are sealed before the former leader stepped down; deletions that ended: %d", n-before, len(deleted))
		}
		testclock.Advance(3 * claimsAge)
		if len(deleted) != 1 {
			t.Fatal("the deletion has not ended")
		}
		if err := <-deleted; err != nil {
			t.Errorf("the deletion returns %v", err)
		}
		m.verifyAll()
		stop()
		leading.Wait()
		m.sealer = next
	})
}

// TestASealerThatHasEndedDeletesNothing deletes a PV after Run has ended. The deletion must not make a
// checkpoint: nobody would count the open blocks out of the memory again.
func TestASealerThatHasEndedDeletesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1)
		m.leading = true
		g := m.launch()
		g.shard = NewShard(g.shardJournal, g.shard.cfg)
		ctx, stop := context.WithCancel(t.Context())
		var leading sync.WaitGroup
		leading.Go(func() { g.shard.Run(ctx) })
		testclock.Advance(time.Minute)
		stop()
		leading.Wait()
		m.put("A", m.some("A", time.Minute, 100), g)
		if err := g.shard.Delete(t.Context(), []string{"B"}); !errors.Is(err, errEnded) {
			t.Errorf("the deletion returns %v", err)
		}
		if n := g.shard.cfg.open.Load(); n != 0 {
			t.Errorf("%d bytes of open blocks count as memory", n)
		}
	})
}
