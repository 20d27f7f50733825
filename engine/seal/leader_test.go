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

// player is an engine that seals until it is outranked, and follows
// until nobody seals, as package engine has it.
type player struct {
	*grinder
	begins []time.Time // when it began to seal
	seals  bool
	stop   func()
}

// play begins with sealing, or not.
func (m *mill) play(seals bool) *player {
	p := &player{grinder: m.launch(), seals: seals}
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

func (m *mill) claim(g *grinder) store.Claim {
	m.st.mu.Lock()
	defer m.st.mu.Unlock()
	return m.st.claims[g.shardJournal.Writer()]
}

// loseClaims lets the claims of a writer vanish on their way to the store from now on.
func (m *mill) loseClaims(of store.WriterID) { _ = m.st.with(func() { m.st.lost = of }) }

func onStage(t *testing.T, f func(m *mill)) {
	synctest.Test(t, func(t *testing.T) {
		m := newMill(t, 1)
		m.roles, m.sealer = true, &grinder{} // who plays sees to the roles
		f(m)
		for _, g := range m.engines {
			g.end()
		}
	})
}

func TestTheRoleOfTheDeadIsTaken(t *testing.T) {
	onStage(t, func(m *mill) {
		a, b := m.play(true), m.play(false)
		testclock.Advance(10 * time.Minute)
		if !a.seals || b.seals {
			m.t.Fatalf("a seals: %v, b seals: %v", a.seals, b.seals)
		}
		alive, crash := m.claim(a.grinder), time.Now()
		a.stop()
		a.end()
		_ = m.st.PutClaim(context.Background(), alive) // it had no time to close
		testclock.Advance(time.Minute)
		if len(b.begins) != 1 {
			m.t.Fatalf("b began to seal %d times", len(b.begins))
		}
		if after := b.begins[0].Sub(crash); after < 10*time.Second || after > 25*time.Second {
			m.t.Errorf("b began to seal %v after the crash", after)
		}
		m.put("A", m.some("A", 0, 1), b.grinder)
		testclock.Advance(time.Hour)
		if _, there := m.st.claims[a.shardJournal.Writer()]; there || len(b.begins) != 1 || !b.seals {
			m.t.Errorf("the claim of a stands: %v; b began %d times", there, len(b.begins))
		}
		b.stop()
	})
}

// A sealer that was thought dead, and others that take the role at once: in the end one
// has it, and it does not go to and fro.
func TestOneOfManyHasTheRole(t *testing.T) {
	onStage(t, func(m *mill) {
		players := []*player{m.play(false), m.play(false), m.play(false), m.play(true)}
		old := players[3]
		testclock.Advance(time.Second) // its claim says that it seals
		m.loseClaims(old.shardJournal.Writer()) // its signs of life do not arrive
		testclock.Advance(time.Minute)
		m.loseClaims(store.WriterID{})
		testclock.Advance(time.Minute)
		began := 0
		var sealer *player
		for i, p := range players {
			if began += len(p.begins); p.seals {
				if sealer != nil {
					m.t.Errorf("%d seals, and not alone", i)
				}
				sealer = p
			}
		}
		if sealer == nil || sealer == old {
			m.t.Fatal("the role stayed")
		}
		testclock.Advance(time.Hour)
		for _, p := range players {
			if began -= len(p.begins); p.seals != (p == sealer) {
				m.t.Error("the role passed, though all live")
			}
			p.stop()
		}
		if began != 0 {
			m.t.Errorf("the role was taken %d times though it was not vacant", -began)
		}
	})
}

func TestARoleThatIsGivenUpIsTakenLater(t *testing.T) {
	onStage(t, func(m *mill) {
		b := m.play(false)
		testclock.Advance(10 * time.Second)
		if b.seals {
			m.t.Fatal("b did not wait for the one that is to seal")
		}
		a := m.play(true)
		testclock.Advance(time.Hour)
		if !a.seals || b.seals {
			m.t.Fatalf("a seals: %v, b seals: %v", a.seals, b.seals)
		}
		a.stop()
		m.rank(a.grinder, store.Follows)
		testclock.Advance(time.Minute)
		if !b.seals {
			m.t.Error("nobody seals")
		}
		b.stop()
	})
}
