package seal

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// candidate is an engine that alternates between sealing and following. It seals until another
// engine leads, and follows until no engine leads, as package engine does.
type candidate struct {
	*simEngine
	begins []time.Time // times at which it began to seal
	seals  bool
	stop   func()
}

// startCandidate starts an engine that seals or follows at first.
func (m *simulation) startCandidate(seals bool) *candidate {
	p := &candidate{simEngine: m.launch(), seals: seals}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			s := NewShard(p.shardJournal, p.shard.cfg)
			if p.seals {
				p.begins = append(p.begins, time.Now())
				p.seals = !s.Run(ctx)
			} else {
				p.seals = s.Follow(ctx)
			}
		}
	})
	p.stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	m.t.Cleanup(p.stop)
	return p
}

func (m *simulation) claim(g *simEngine) store.Claim {
	m.st.mu.Lock()
	defer m.st.mu.Unlock()
	return m.st.claims[g.shardJournal.Writer()]
}

// loseClaims makes the store lose all further claims of a writer.
func (m *simulation) loseClaims(of store.WriterID) { _ = m.st.with(func() { m.st.lost = of }) }

func withCandidates(t *testing.T, f func(m *simulation)) {
	synctest.Test(t, func(t *testing.T) {
		m := newSimulation(t, 1)
		m.leading, m.sealer = true, &simEngine{} // candidates take over by themselves
		f(m)
		for _, g := range m.engines {
			g.end()
		}
	})
}

func TestAFollowerReplacesADeadLeader(t *testing.T) {
	withCandidates(t, func(m *simulation) {
		a, b := m.startCandidate(true), m.startCandidate(false)
		testclock.Advance(10 * time.Minute)
		if !a.seals || b.seals {
			m.t.Fatalf("a seals: %v, b seals: %v", a.seals, b.seals)
		}
		alive, crash := m.claim(a.simEngine), time.Now()
		a.stop()
		a.end()
		_ = m.st.PutClaim(context.Background(), alive) // the writer died before it could close its claim
		testclock.Advance(time.Minute)
		if len(b.begins) != 1 {
			m.t.Fatalf("b began to seal %d times", len(b.begins))
		}
		if after := b.begins[0].Sub(crash); after < 10*time.Second || after > 25*time.Second {
			m.t.Errorf("b began to seal %v after the crash", after)
		}
		m.put("A", m.some("A", 0, 1), b.simEngine)
		testclock.Advance(time.Hour)
		if _, there := m.st.claims[a.shardJournal.Writer()]; there || len(b.begins) != 1 || !b.seals {
			m.t.Errorf("the claim of a exists: %v; b began to seal %d times", there, len(b.begins))
		}
		b.stop()
	})
}

// TestOneOfManyEnginesLeads checks that one engine leads in the end, after a leader wrongly
// counted as dead and other engines took over at the same time. Leadership must not pass back
// and forth.
func TestOneOfManyEnginesLeads(t *testing.T) {
	withCandidates(t, func(m *simulation) {
		candidates := []*candidate{m.startCandidate(false), m.startCandidate(false), m.startCandidate(false), m.startCandidate(true)}
		old := candidates[3]
		testclock.Advance(time.Second)          // its claim reports that it seals
		m.loseClaims(old.shardJournal.Writer()) // its renewed claims no longer arrive
		testclock.Advance(time.Minute)
		m.loseClaims(store.WriterID{})
		testclock.Advance(time.Minute)
		began := 0
		var sealer *candidate
		for i, p := range candidates {
			if began += len(p.begins); p.seals {
				if sealer != nil {
					m.t.Errorf("engine %d seals, but another engine seals, too", i)
				}
				sealer = p
			}
		}
		if sealer == nil || sealer == old {
			m.t.Fatal("the silent engine still leads")
		}
		testclock.Advance(time.Hour)
		for _, p := range candidates {
			if began -= len(p.begins); p.seals != (p == sealer) {
				m.t.Error("another engine took over, although all engines are alive")
			}
			p.stop()
		}
		if began != 0 {
			m.t.Errorf("engines took over %d times, although there was a leader", -began)
		}
	})
}

func TestAFollowerLeadsAfterTheLeaderStepsDown(t *testing.T) {
	withCandidates(t, func(m *simulation) {
		b := m.startCandidate(false)
		testclock.Advance(10 * time.Second)
		if b.seals {
			m.t.Fatal("b leads, but it must wait for the engine that is ordered to lead")
		}
		a := m.startCandidate(true)
		testclock.Advance(time.Hour)
		if !a.seals || b.seals {
			m.t.Fatalf("a seals: %v, b seals: %v", a.seals, b.seals)
		}
		a.stop()
		m.setTerm(a.simEngine, store.Follows)
		testclock.Advance(time.Minute)
		if !b.seals {
			m.t.Error("no engine seals after the leader stepped down")
		}
		b.stop()
	})
}
