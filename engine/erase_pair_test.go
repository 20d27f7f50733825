package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// erasedPair is two engines that capture PV A, of which one seals.
type erasedPair struct {
	*erased
	keep    store.Retention
	source  *taps // both engines capture from it
	engines fleet
	leader  int
}

// TestErasureWhileTheLeaderChanges sends and deletes samples while two engines seal in turn, are killed and come back. Readers must
// always see the samples, the last samples and the bins that they must.
func TestErasureWhileTheLeaderChanges(t *testing.T) { erasePair(t, 5, 6, 12) }

func TestLong_ErasureWhileTheLeaderChanges(t *testing.T) { erasePair(t, 0, 4, 20) }

// erasePair runs the test with the seeds from first (inclusive) to end (exclusive).
func erasePair(t *testing.T, first, end uint64, steps int) {
	for seed := first; seed < end; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			keep := tiled
			if seed%2 == 1 {
				keep.Raw = store.Keep30d
			}
			inErased(t, keep, func(x *erased) {
				x.end() // pairs do not lock the store
				p := &erasedPair{erased: x, keep: keep, source: &taps{}, engines: make(fleet, 2)}
				for i := range p.engines {
					p.start(i)
				}
				p.lead(0)
				p.run(rand.New(rand.NewPCG(seed, 11)), steps)
			})
		})
	}
}

// run takes random steps, and checks what readers see after each.
func (p *erasedPair) run(rng *rand.Rand, steps int) {
	begun := time.Now()
	ago := func() time.Time { return begun.Add(time.Duration(rng.Int64N(int64(time.Since(begun)) + 1))) }
	for n := range steps {
		step := "waits"
		switch k := rng.IntN(10); {
		case k < 3:
			step = "sends"
			p.every(time.Duration(1+rng.IntN(20))*time.Minute, time.Duration(1+rng.IntN(3))*time.Hour)
		case k < 4:
			step = "sends late samples"
			for range rng.IntN(5) {
				p.sendAt(ago())
			}
		case k < 6 && len(p.sent) > 0:
			from, to := ago(), ago()
			if to.Before(from) {
				from, to = to, from
			}
			if to = to.Add(-time.Minute); from.Before(to) {
				step = fmt.Sprint("deletes ", from.Sub(begun), " to ", to.Sub(begun))
				p.order(from, to)
			}
		case k < 8:
			step = "the leader changes"
			p.lead(1 - p.leader)
		case k < 9:
			step = "an engine is killed, and comes back"
			i := rng.IntN(2)
			testclock.Advance(2 * time.Second) // its samples are in the journal
			p.engines[i].kill()
			testclock.Advance(time.Duration(rng.IntN(60)) * time.Second)
			p.start(i)
			p.lead(p.leader)
		default:
			testclock.Advance(time.Duration(rng.IntN(150)) * time.Minute)
		}
		if len(p.sent) > 0 {
			p.check(fmt.Sprintf("step %d: %s, after %v", n, step, time.Since(begun)))
		}
	}
	for range 8 { // agents repeat the orders
		for _, d := range p.deleted {
			p.carryOut(Deletion{PVs: []string{"A"}, From: d.From, To: d.To})
		}
		testclock.Advance(time.Hour)
	}
	p.check("in the end")
	if len(p.deleted) == 0 {
		p.t.Error("no step deleted samples")
	}
	if samples, bins := p.stored(); samples+bins > 0 {
		p.t.Errorf("%d deleted samples are still in blocks, and %d bins have some", samples, bins)
	}
}

// start starts an engine, which follows.
func (p *erasedPair) start(i int) {
	dying := &mortal{Store: p.st.Store} // p.st leaves out claims: two engines would lead
	l := &life{source: p.source, store: dying, Engine: New(Options{
		Store: dying, Sources: capture.Sources{p.source}, Shards: 4, Flush: time.Second, Checkpoint: 15 * time.Minute,
	})}
	ctx, cancel := context.WithCancel(p.t.Context())
	unsaved := make(chan int, 1)
	go func() { unsaved <- l.Run(ctx) }()
	l.end = sync.OnceValue(func() int { cancel(); return <-unsaved })
	p.engines[i] = l
	p.life = &life{source: p.source, reader: p.engines.reader(p.st), end: func() int {
		for _, l := range p.engines {
			if l != nil {
				l.end()
			}
		}
		return 0
	}}
}

// lead orders an engine to seal, and the other one to follow.
func (p *erasedPair) lead(leader int) {
	p.leader = leader
	for i, l := range p.engines {
		l.Apply(Assignment{0: {Seal: i == leader, Channels: []capture.Channel{{PV: "A", Group: "lab/test", Settings: &capture.Settings{Retention: p.keep}}}}})
	}
	testclock.Advance(time.Second) // both subscribe
}

// order deletes the samples of a range, ends included.
func (p *erasedPair) order(from, to time.Time) {
	p.t.Helper()
	d := Deletion{PVs: []string{"A"}, From: from.UnixNano(), To: to.UnixNano(), Group: "lab/test", Reason: "bad calibration"}
	p.carryOut(d)
	p.deleted = append(p.deleted, store.Deleted{From: d.From, To: d.To})
}

// carryOut carries out a deletion, as the agents do: the engine that seals tries until it succeeds.
func (p *erasedPair) carryOut(d Deletion) {
	p.t.Helper()
	shard := 0
	d.Shard = &shard
	for tries := 0; ; tries++ {
		for i, l := range p.engines {
			if !l.Sealing()[0] {
				continue
			}
			out, err := l.Erase(p.t.Context(), d)
			switch {
			case err == nil && out.Hidden == 1:
				return
			case err == nil || tries > 300:
				p.t.Fatalf("engine %d, try %d: %+v, %v", i, tries, out, err)
			case !errors.Is(err, ErrNotSealing):
				p.t.Logf("engine %d, try %d: %v", i, tries, err)
			}
		}
		testclock.Advance(time.Second)
	}
}
