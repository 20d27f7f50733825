package seal

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// putAndEnd appends samples to the journal of a writer that ends at once, like a segment of a spool.
func (m *simulation) putAndEnd(pv string, samples []sample.Sample) {
	sealer := m.sealer
	g := m.launch()
	m.setTerm(g, store.Follows)
	m.put(pv, samples, g)
	g.end()
	m.engines, m.sealer = m.engines[:len(m.engines)-1], sealer
}

// TestRowsStayForAFormerLeader passes leadership on during a checkpoint. The former leader has read the
// claims, but not yet the rows of a writer that has ended, and the new leader seals these rows first. The
// former leader then writes tiles. They must have the samples of these rows.
func TestRowsStayForAFormerLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1, simLevels...)
		m.leading = true
		former, next := m.launch(), m.launch()
		testclock.Advance(3 * time.Hour)
		m.put("A", m.some("A", 3*time.Hour, 1000), former)
		m.checkpoint(former)
		testclock.Advance(2 * time.Hour)
		m.putAndEnd("A", m.some("A", 2*time.Hour, 100))
		m.put("A", m.some("A", 2*time.Hour, 1000), former)
		m.st.looked = func() {
			m.lead(next)
			if err := next.shard.adoptEnded(t.Context()); err != nil {
				t.Error(err)
			}
		}
		m.checkpoint(former)
		m.verifyAll()
		for range 20 {
			m.compareBins("A")
		}
		m.setTerm(former, store.Follows)
		m.sealer = next
		m.checkpoint(next)
		if claims, _ := m.st.Claims(t.Context(), 0); len(claims) != 2 {
			t.Errorf("%d claims are left, want those of two engines", len(claims))
		}
		m.converge()
	})
}

// passOn starts a shard with a leader, which has samples to seal, and another engine. While the leader
// makes a checkpoint, after it has read the claims, the other engine takes over. Then a writer that the leader
// does not know begins and ends. Then during is called. passOn returns the error of the checkpoint.
func (m *simulation) passOn(during func(next *simEngine)) (former, next *simEngine, err error) {
	m.leading = true
	former, next = m.launch(), m.launch()
	testclock.Advance(3 * time.Hour)
	m.put("A", m.some("A", 3*time.Hour, 1000), former)
	m.checkpoint(former)
	testclock.Advance(2 * time.Hour)
	m.put("A", m.some("A", 2*time.Hour, 1000), former)
	m.st.looked = func() {
		m.lead(next)
		m.putAndEnd("A", m.some("A", 2*time.Hour, 100))
		during(next)
	}
	return former, next, former.shard.Checkpoint(context.Background())
}

// TestAFormerLeaderWritesNoTiles passes leadership on during a checkpoint. The new leader seals the rows
// of a writer that the former leader does not know. The former leader must write no tiles, because they
// would lack the samples of that writer, and it must end its pass at once.
func TestAFormerLeaderWritesNoTiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1, simLevels...)
		former, next, err := m.passOn(func(next *simEngine) {
			testclock.Advance(claimsAge)
			if err := next.shard.adoptEnded(t.Context()); err != nil {
				t.Error(err)
			}
			clear(m.st.tileWrites)
		})
		if !errors.Is(err, errSuperseded) || len(m.st.tileWrites) > 0 {
			t.Errorf("the checkpoint of the former leader returns %v, after it wrote %d tiles", err, len(m.st.tileWrites))
		}
		if len(former.shard.refused.pvs) > 0 {
			t.Error("the former leader counts PVs as refused")
		}
		m.verifyAll()
		for range 20 {
			m.compareBins("A")
		}
		m.setTerm(former, store.Follows)
		m.sealer = next
		m.converge()
	})
}

// TestANewLeaderWaitsForTheFormerOne passes leadership on during a checkpoint. The former leader has read
// the claims a moment ago, so it still writes tiles. Until its claim says that it follows, the new leader
// must not seal the rows of a writer that the former leader does not know. If the claim never says so, the
// new leader must not wait for long.
func TestANewLeaderWaitsForTheFormerOne(t *testing.T) {
	for name, follows := range map[string]bool{"the former leader follows": true, "the former leader is stuck": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newSimulation(t, 1, simLevels...)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				var leading sync.WaitGroup
				former, next, err := m.passOn(func(next *simEngine) {
					next.shard = NewShard(next.shardJournal, next.shard.cfg)
					leading.Go(func() { next.shard.Run(ctx) })
					testclock.Advance(claimsAge / 2)
				})
				if err != nil {
					t.Errorf("the checkpoint of the former leader returns %v", err)
				}
				m.verifyAll()
				for range 20 {
					m.compareBins("A")
				}
				sealed := func() int { n, _ := m.samplesInBlocks("A"); return n }
				times := map[int64]bool{}
				for _, s := range m.all["A"] {
					times[s.Time] = true
				}
				before := sealed()
				testclock.Advance(formerWait - 2*claimsAge)
				if n := sealed(); n != before {
					t.Errorf("the new leader sealed %d samples before the former one stepped down", n-before)
				}
				if follows {
					m.setTerm(former, store.Follows)
					testclock.Advance(2 * formerEvery)
				} else {
					testclock.Advance(2 * claimsAge)
				}
				if n := sealed(); n != len(times) {
					t.Errorf("%d samples are in blocks, want %d", n, len(times))
				}
				m.verifyAll()
				stop()
				leading.Wait()
				m.sealer = next
			})
		})
	}
}

// TestASlowReadOfTheClaimsIsRepeated lets another engine take over while the leader reads the claims, which
// takes long. The claims that it reads do not show this, so it must read them again.
func TestASlowReadOfTheClaimsIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1)
		m.leading = true
		former, next := m.launch(), m.launch()
		testclock.Advance(time.Minute)
		m.st.looked = func() {
			testclock.Advance(claimsAge)
			m.lead(next)
		}
		if err := former.shard.checkClaims(t.Context()); !errors.Is(err, errSuperseded) {
			t.Errorf("the former leader finds %v", err)
		}
		m.sealer = next
	})
}

// TestSlowReadsOfTheClaimsAreLimited lets each read of the claims take long. The leader must not write tiles
// then. It must find this out after a few reads, and not by reading again for each PV.
func TestSlowReadsOfTheClaimsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1)
		m.leading = true
		g := m.launch()
		testclock.Advance(time.Minute)
		reads := 0
		var slow func()
		slow = func() {
			testclock.Advance(claimsAge)
			reads++
			m.st.looked = slow
		}
		m.st.looked = slow
		for range 1000 {
			if err := g.shard.checkClaims(t.Context()); !errors.Is(err, errSlowClaims) {
				t.Fatalf("after %d slow reads the leader finds %v", reads, err)
			}
		}
		if reads != claimsReads {
			t.Errorf("the claims were read %d times, want %d", reads, claimsReads)
		}
		m.st.looked = nil
		testclock.Advance(claimsAge)
		if err := g.shard.checkClaims(t.Context()); err != nil {
			t.Errorf("after a fast read the leader finds %v", err)
		}
	})
}
