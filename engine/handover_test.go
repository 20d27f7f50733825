package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// fleet answers for several engines, as a retrieval pod does.
type fleet []*life

func (f fleet) Recent(ctx context.Context, q query.RecentRequest) (held query.Held) {
	for _, l := range f {
		held.Add(l.Recent(ctx, q))
	}
	return held
}

func (f fleet) reader(st store.Store) *query.Reader {
	return &query.Reader{Store: st, Recent: f, Shards: 4}
}

// one returns an assignment of one shard.
func one(shard int, sealing bool, pvs ...string) Assignment {
	s := Shard{Seal: sealing}
	for _, pv := range pvs {
		s.Channels = append(s.Channels, capture.Channel{PV: pv, Group: "lab/test", Settings: &capture.Settings{}})
	}
	return Assignment{shard: s}
}

// marks returns the kinds of a PV's marks, except those for connections.
func marks(t *testing.T, st store.Store, pv string) (kinds []string) {
	t.Helper()
	for m, err := range st.Marks(t.Context(), pv, 0, time.Now().Add(time.Hour).UnixNano()) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind != sample.Connected {
			kinds = append(kinds, m.Kind.String())
		}
	}
	return kinds
}

func claims(t *testing.T, st store.Store, shard int) []store.Claim {
	t.Helper()
	all, err := st.Claims(t.Context(), shard)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// inBlocks counts the samples of a PV in blocks, duplicates included.
func inBlocks(t *testing.T, st store.Store, pv string) (n int) {
	t.Helper()
	c, _, err := st.Channel(t.Context(), pv)
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range c.Starts {
		for b := first; b <= first.Span().Last(); b = b.Next() {
			for blk, err := range st.Blocks(t.Context(), pv, b, b.Start(), b.End()) {
				if err != nil {
					t.Fatal(err)
				}
				n += blk.Count
			}
		}
	}
	return n
}

// wantAll reads a PV and expects the values 0 to n-1.
func wantAll(t *testing.T, r *query.Reader, pv string, n int, when string) {
	t.Helper()
	if got := values(t, r, pv); !slices.Equal(got, count(0, n)) {
		t.Fatalf("%s: %d samples of %d read: %s", when, len(got), n, firstGap(got))
	}
}

// TestHandOver moves a shard from one engine to another while samples arrive, in the steps
// that the operator takes. The archive must be complete at every moment and must not record an
// outage.
func TestHandOver(t *testing.T) {
	for _, checkpoint := range []time.Duration{20 * time.Millisecond, time.Hour} {
		handOver(t, openStore(t), checkpoint)
	}
}

func handOver(t *testing.T, st store.Store, checkpoint time.Duration) {
	ioc := &taps{}
	a := launch(t, st, ioc, Options{Checkpoint: checkpoint})
	b := launch(t, st, ioc, Options{Checkpoint: checkpoint})
	both := fleet{a, b}.reader(st)
	sent := 0
	send := func(when string) {
		for range 5 {
			ioc.send("A", sent, sent+300)
			sent += 300
			wantAll(t, both, "A", sent, when)
		}
	}
	a.Apply(one(0, true, "A"))
	send("before")
	b.Apply(one(0, false, "A"))
	send("while both capture")
	eventually(t, "the new engine has claimed", func() bool { s := b.ShardStatus(0); return s.Claimed && s.States[capture.Connected] == 1 })
	a.Apply(Assignment{})
	send("while the old one drains")
	eventually(t, "the old engine has drained", func() bool { return len(a.Held()) == 0 })
	send("when the old one has drained")
	b.Apply(one(0, true, "A"))
	send("when the new one seals")
	if n := a.Unsaved(); n != 0 || a.Summary().MemoryBytes != 0 {
		t.Errorf("the old engine still holds %d samples, %d bytes", n, a.Summary().MemoryBytes)
	}
	eventually(t, "the claim of the old engine is dropped", func() bool { return len(claims(t, st, 0)) == 1 })
	send("when the claim of the old engine is dropped")
	a.end()
	b.end()
	wantAll(t, &query.Reader{Store: st, Shards: 4}, "A", sent, "at the end")
	if kinds := marks(t, st, "A"); len(kinds) > 0 {
		t.Errorf("the hand-over left the marks %v", kinds)
	}
}

// TestReleaseWhileTheStoreIsAway releases a shard that cannot be flushed. It assigns the shard
// again before and after the store is reachable again.
func TestReleaseWhileTheStoreIsAway(t *testing.T) {
	for _, opts := range []Options{{Checkpoint: time.Hour}, {Checkpoint: 10 * time.Millisecond, Exclusive: true}} {
		releaseWhileAway(t, opts)
	}
}

func releaseWhileAway(t *testing.T, opts Options) {
	st, ioc := openStore(t), &taps{}
	// The directory knows the PV, as after the first checkpoint.
	if err := st.AddChannel(t.Context(), store.Channel{PV: "A", Shards: []int{0}}); err != nil {
		t.Fatal(err)
	}
	l := launch(t, st, ioc, opts)
	l.Apply(one(0, true, "A"))
	ioc.send("A", 0, 100)
	eventually(t, "samples are durable", func() bool { return l.Unsaved() == 0 })
	l.store.dead.Store(true)
	ioc.send("A", 100, 200)
	eventually(t, "the engine notices that the store is unreachable", func() bool { return l.Storage() != "" })
	l.Apply(Assignment{})
	if got := l.Held(); !slices.Equal(got, []int{0}) {
		t.Fatalf("the engine holds shards %v, want 0: a shard with samples that are not durable was released", got)
	}
	if s := l.ShardStatus(0); s.Channels != 0 || !s.Held || s.Unsaved != 100 {
		t.Fatalf("the status of the shard that waits for its release is %+v", s)
	}
	l.Apply(one(0, true, "A"))
	ioc.send("A", 200, 300)
	wantAll(t, l.reader, "A", 300, "assigned again while the store is away")
	l.Apply(Assignment{})
	l.Apply(one(0, true, "A"))
	ioc.send("A", 300, 400)
	l.store.dead.Store(false)
	eventually(t, "all samples are durable, and all claims except one are closed", func() bool {
		open := 0
		for _, c := range claims(t, st, 0) {
			if !c.Closed {
				open++
			}
		}
		return l.Unsaved() == 0 && open == 1 && l.Storage() == ""
	})
	wantAll(t, l.reader, "A", 400, "when the store is back")
	l.Apply(Assignment{})
	eventually(t, "the shard is released", func() bool { return len(l.Held()) == 0 })
	wantAll(t, l.reader, "A", 400, "when the shard is released")
	if n := l.Summary().MemoryBytes; n != 0 {
		t.Errorf("the released shard still takes %d bytes of memory", n)
	}
	l.Apply(one(0, true, "A"))
	ioc.send("A", 400, 500)
	wantAll(t, l.reader, "A", 500, "taken again")
	if n := l.end(); n != 0 {
		t.Errorf("%d samples unsaved", n)
	}
	if kinds := marks(t, st, "A"); len(kinds) > 0 {
		t.Errorf("marks %v", kinds)
	}
}

// TestSealingPasses passes the leadership back and forth between two engines. An engine that
// does not seal must drop what the other has sealed and must not seal it again.
func TestSealingPasses(t *testing.T) {
	st := openStore(t)
	// Each engine has its own IOC, so that no sample is captured twice.
	iocs := []*taps{{}, {}}
	pair := fleet{
		launch(t, st, iocs[0], Options{Checkpoint: 10 * time.Millisecond}),
		launch(t, st, iocs[1], Options{Checkpoint: 10 * time.Millisecond}),
	}
	both := pair.reader(st)
	sent := 0
	for round := range 6 {
		sealer := round % 2
		pair[1-sealer].Apply(one(0, false, "A"))
		pair[sealer].Apply(one(0, true, "A"))
		for range 5 {
			for _, ioc := range iocs {
				ioc.send("A", sent, sent+100)
				sent += 100
			}
			wantAll(t, both, "A", sent, "in between")
		}
		eventually(t, "all samples are in blocks", func() bool {
			return pair[0].Summary().MemoryBytes+pair[1].Summary().MemoryBytes < 500 && inBlocks(t, st, "A") >= sent
		})
		wantAll(t, both, "A", sent, "sealed")
		if s := pair[sealer].ShardStatus(0); !s.Sealing || pair[1-sealer].ShardStatus(0).Sealing {
			t.Fatalf("round %d: the wrong engine seals", round)
		}
	}
	// A term that ends during a checkpoint may leave some duplicates. More duplicates are an
	// error.
	if n := inBlocks(t, st, "A"); n > sent*3/2 {
		t.Errorf("%d samples in blocks, %d sent", n, sent)
	}
}

// TestTheLeadershipPassesWithoutOrders checks the leadership. A follower takes the leadership
// when the leader is dead, and yields it to an engine that is ordered to seal. An order that
// changes nothing has no effect, and an old order does not bring the leadership back.
func TestTheLeadershipPassesWithoutOrders(t *testing.T) {
	st, ioc := openStore(t), &taps{}
	// Engine b considers all other engines dead as soon as it checks. Engine a never does.
	b := launch(t, st, ioc, Options{Checkpoint: 10 * time.Millisecond, Exclusive: true})
	b.Apply(one(0, false, "A"))
	seals := func(l *life) func() bool { return func() bool { return l.ShardStatus(0).Sealing } }
	eventually(t, "b seals, because no engine does", seals(b))
	a := launch(t, st, ioc, Options{Checkpoint: 10 * time.Millisecond})
	a.Apply(one(0, true, "A"))
	eventually(t, "a seals, by order", seals(a))
	sent := 0
	send := func() {
		ioc.send("A", sent, sent+100)
		sent += 100
	}
	send()
	a.kill()
	eventually(t, "b seals, because a is dead", seals(b))
	eventually(t, "the claim of a is dropped", func() bool { return len(claims(t, st, 0)) == 1 })
	c := launch(t, st, ioc, Options{Checkpoint: 10 * time.Millisecond})
	c.Apply(one(0, true, "A"))
	eventually(t, "c seals, by order", seals(c))
	c.Apply(one(0, true, "A"))
	b.Apply(one(0, true, "A"))
	eventually(t, "b seals, by a later order", func() bool { return seals(b)() && !seals(c)() })
	send()
	eventually(t, "all samples are in blocks", func() bool { return inBlocks(t, st, "A") >= sent })
	wantAll(t, fleet{b, c}.reader(st), "A", sent, "in the end")
}

// TestAFollowerAssistsWhenNobodySeals checks that an engine without an order to seal seals
// nevertheless when memory is short.
func TestAFollowerAssistsWhenNobodySeals(t *testing.T) {
	st, ioc := openStore(t), &taps{}
	l := launch(t, st, ioc, Options{Checkpoint: 10 * time.Millisecond, Memory: 1 << 18})
	l.Apply(one(0, false, "A"))
	const n = 100_000 // about 2 MiB
	for sent := 0; sent < n; sent += 1000 {
		ioc.send("A", sent, sent+1000)
		eventually(t, "memory is released", func() bool { return l.Unsaved() == 0 && l.Summary().MemoryBytes < 1<<17 })
	}
	wantAll(t, l.reader, "A", n, "sealed without an order")
	if s := l.Summary(); s.Dropped[sample.Overflow] != 0 {
		t.Errorf("%d samples were dropped", s.Dropped[sample.Overflow])
	}
}

// TestADeathThatNobodyMissed checks that an engine's death leaves no mark for a PV that the
// new sealer had captured all the time.
func TestADeathThatNobodyMissed(t *testing.T) {
	st, ioc := openStore(t), &taps{}
	b := launch(t, st, ioc, Options{Checkpoint: time.Hour, Exclusive: true})
	b.Apply(one(0, false, "A"))
	eventually(t, "the second engine has claimed", func() bool { return b.ShardStatus(0).Claimed })
	a := launch(t, st, ioc, Options{Checkpoint: time.Hour})
	a.Apply(one(0, true, "A", "B"))
	ioc.send("A", 0, 100)
	eventually(t, "samples are durable", func() bool { return a.Unsaved() == 0 && a.ShardStatus(0).Claimed })
	a.kill()
	b.Apply(one(0, true, "A", "B"))
	eventually(t, "the claim of the dead engine is dropped", func() bool { return len(claims(t, st, 0)) == 1 })
	if kinds := marks(t, st, "A"); len(kinds) > 0 {
		t.Errorf("a PV that was captured all the time has marks %v", kinds)
	}
	if kinds := marks(t, st, "B"); !slices.Equal(kinds, []string{"died"}) {
		t.Errorf("a PV that only the dead engine captured has marks %v", kinds)
	}
}

func TestAMoveBetweenShardsKeepsTheSubscription(t *testing.T) {
	st, ioc := openStore(t), &taps{}
	l := launch(t, st, ioc, Options{Checkpoint: time.Hour})
	l.Apply(one(0, true, "A"))
	ioc.send("A", 0, 100)
	l.Apply(one(3, true, "A")) // this releases shard 0
	ioc.send("A", 100, 200)
	eventually(t, "the old shard is released", func() bool { return slices.Equal(l.Held(), []int{3}) })
	wantAll(t, l.reader, "A", 200, "moved")
	if s, _ := l.Capture().Status("A"); s.Connects != 1 {
		t.Errorf("the PV connected %d times", s.Connects)
	}
	eventually(t, "all samples count as stored", func() bool { s, _ := l.Capture().Status("A"); return s.Stored == 200 })
}

func TestDelete(t *testing.T) {
	st := openStore(t)
	l := start(t, st, time.Hour, "A", "B", "C", "D", "A2") // A and A2 share shard 0
	for _, pv := range []string{"A", "A2"} {
		l.source.send(pv, 0, 100)
	}
	eventually(t, "samples are durable", func() bool { return l.Unsaved() == 0 })
	l.kill() // the next engine finds its rows
	l = start(t, st, time.Hour, "A", "B", "C", "D", "A2")
	for _, pv := range []string{"A", "A2"} {
		l.source.send(pv, 100, 200)
	}
	eventually(t, "the shard is sealed by this engine", func() bool { return l.ShardStatus(0).Sealing })
	if err := l.Delete(t.Context(), 0, []string{"A2"}); !errors.Is(err, ErrCaptured) {
		t.Fatalf("deleting a captured PV returns %v, want ErrCaptured", err)
	}
	l.assign("A", "B", "C", "D")
	for range 2 {
		if err := l.Delete(t.Context(), 0, []string{"A2", "never seen"}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.reader.Read(t.Context(), "A2", t0, t0+1e15, query.Options{}); !errors.Is(err, query.ErrUnknownPV) {
			t.Fatalf("reading a deleted PV returns %v, want ErrUnknownPV", err)
		}
		if kinds := marks(t, st, "A2"); len(kinds) > 0 {
			t.Errorf("the deleted PV still has the marks %v", kinds)
		}
	}
	wantAll(t, l.reader, "A", 200, "the PV that was not deleted")
	l.assign("A", "B", "C", "D", "A2")
	l.source.send("A2", 500, 600)
	if got := values(t, l.reader, "A2"); !slices.Equal(got, count(500, 600)) {
		t.Errorf("after the deleted PV was captured again, a read returns %d samples, want 100", len(got))
	}
	l.end()
	l = start(t, st, 10*time.Millisecond, "A", "B", "C", "D", "A2")
	eventually(t, "all samples are in blocks", func() bool { return inBlocks(t, st, "A2") == 100 })
	if got := values(t, &query.Reader{Store: st, Shards: 4}, "A2"); !slices.Equal(got, count(500, 600)) {
		t.Errorf("after the deleted PV was captured again and sealed, a read returns %d samples, want 100", len(got))
	}
}

func TestOnlyASealerDeletes(t *testing.T) {
	l := launch(t, openStore(t), &taps{}, Options{})
	for _, a := range []Assignment{{}, one(1, true), one(0, false)} {
		l.Apply(a)
		if err := l.Delete(t.Context(), 0, []string{"A"}); !errors.Is(err, ErrNotSealing) {
			t.Errorf("deleting returns %v", err)
		}
	}
}

// TestADeletionWhileTheStoreIsAway checks that a deletion ends with its context while the
// store is unreachable.
func TestADeletionWhileTheStoreIsAway(t *testing.T) {
	l := start(t, openStore(t), time.Hour)
	eventually(t, "the shard is sealed", func() bool { s := l.ShardStatus(0); return s.Sealing && s.Claimed })
	l.store.dead.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Delete(ctx, 0, []string{"A"}); err == nil {
		t.Error("it succeeds")
	}
}
