package seal

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/test/testclock"
)

// entriesHeld returns how many late PVs are in the sets that held rows wait for.
func (o *outage) entriesHeld() (n int) {
	for _, rows := range o.sealer.shard.held {
		for i := range rows {
			n += len(rows[i].late)
		}
	}
	return n
}

// setsInMemory returns the bytes of sets that count as memory of the engine, since it used the given number of
// bytes for samples.
func (o *outage) setsInMemory(samples int64) int64 {
	cfg := o.sealer.shard.cfg
	return cfg.Memory.Used() - cfg.open.Load() - samples
}

// TestSetsOfLatePVsCountAsMemory checks that the sets of late PVs that held rows wait for count as memory until
// the tiles are corrected, and that corrections do not wait if the sets of all shards take too much memory.
func TestSetsOfLatePVsCountAsMemory(t *testing.T) {
	for name, others := range map[string]int64{"room": 0, "no room": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(t, 5*time.Minute, 30*time.Minute)
				s := o.sealer.shard
				s.cfg.sets.Add(others) // those of other shards
				samples := o.setsInMemory(0)
				for i := range 4 {
					o.sendBatch(i)
					if err := s.adoptEnded(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if n := o.entriesHeld(); (n > 0) != (others == 0) {
					t.Errorf("held rows wait for %d late PVs", n)
				}
				want := int64(o.entriesHeld()) * lateBytes
				if got := o.setsInMemory(samples); got != want || s.cfg.sets.Load() != want+others {
					t.Errorf("%d bytes count as memory, and %d as sets; want %d", got, s.cfg.sets.Load()-others, want)
				}
				testclock.Advance(10 * time.Minute)
				o.checkpoint(o.sealer)
				if s.cfg.sets.Load() != others || len(s.held) > 0 {
					t.Errorf("%d bytes count as sets after the corrections, and the rows of %d writers are held", s.cfg.sets.Load()-others, len(s.held))
				}
				o.compareOutage()
			})
		})
	}
}

// TestReleasedRowsAreNotSealedAgain lets the sets of late PVs take too much memory when the rows of several
// writers are held. The rows of all of them are released in the middle of a pass, which has read the claims
// before. The pass must not write their samples to blocks again.
func TestReleasedRowsAreNotSealedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, 5*time.Minute, 30*time.Minute)
		s := o.sealer.shard
		for i := range 4 {
			if o.sendBatch(i); i == 3 {
				s.cfg.sets.Add(1 << 30)
			}
			if err := s.adoptEnded(t.Context()); err != nil {
				t.Fatal(err)
			}
			if held := len(s.held); held != []int{1, 2, 3, 0}[i] {
				t.Fatalf("after batch %d, the rows of %d writers are held", i, held)
			}
		}
		for _, pv := range o.pvs {
			if n, all := o.samplesInBlocks(pv); n != all {
				t.Errorf("%s: %d samples are in blocks, %d with duplicates", pv, n, all)
			}
		}
		o.compareOutage()
	})
}

// TestAnEndedSealerHoldsNoMemory ends a sealer while rows are held.
func TestAnEndedSealerHoldsNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, time.Hour, 2*time.Hour)
		cfg := o.sealer.shard.cfg
		s := NewShard(o.sealer.shardJournal, cfg)
		o.sealer.shard = s
		ctx, stop := context.WithCancel(t.Context())
		var leading sync.WaitGroup
		leading.Go(func() { s.Run(ctx) })
		testclock.Advance(time.Minute)
		o.sendRows(1, o.pvs...)
		testclock.Advance(20 * time.Minute)
		if cfg.sets.Load() == 0 {
			t.Error("no rows are held, so the test shows nothing")
		}
		stop()
		leading.Wait()
		if n := cfg.sets.Load(); n != 0 {
			t.Errorf("%d bytes of an ended sealer count as sets", n)
		}
	})
}

// TestCorrectedPVsTakeNoMemory refuses the tiles of one PV. The rows wait for it, and only this PV counts as memory.
func TestCorrectedPVsTakeNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, 0, 0)
		o.refusing(o.pvs[0], false)
		o.sendRows(1, o.pvs...)
		o.seal(1)
		sets := &o.sealer.shard.cfg.sets
		if n := sets.Load(); n != lateBytes {
			t.Errorf("%d bytes count as sets while one PV waits, want %d", n, lateBytes)
		}
		o.refusing("", false)
		testclock.Advance(2 * time.Minute)
		o.seal(1)
		if n := sets.Load(); n != 0 {
			t.Errorf("%d bytes count as sets when no PV waits", n)
		}
	})
}

// TestReleasedRowsAreNotLost releases the rows of a dead writer in the pass that reads them. They must not count as
// rows that have expired, and the claim of the writer must go.
func TestReleasedRowsAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, time.Hour, 2*time.Hour)
		losses := o.sealer.collectLosses()
		w := o.sendRows(1, o.pvs...)
		_ = o.st.with(func() {
			c := o.st.claims[w]
			c.Closed = false
			o.st.claims[w] = c
		})
		o.sealer.shard.cfg.sets.Add(1 << 30)
		o.seal(20)
		if o.hasClaim(w) || len(*losses) > 0 {
			t.Errorf("the claim of the writer exists: %v; losses are reported: %+v", o.hasClaim(w), *losses)
		}
	})
}
