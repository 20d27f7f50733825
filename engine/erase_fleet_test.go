package engine

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/scan"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
)

// TestErasureWhileAShardChangesHands deletes samples of a PV that two engines capture. In the middle of the deletion the shard
// passes to the other engine, which is then killed, and a third one ends the deletion.
func TestErasureWhileAShardChangesHands(t *testing.T) { eraseWhileAShardChangesHands(t, openStore(t)) }

// erasing is an archive with a deletion of the samples 300 to 599 of PV A.
type erasing struct {
	t    *testing.T
	st   store.Store
	ioc  *taps
	d    Deletion
	sent int // samples 0 to sent-1, but not all of the deleted range
}

func eraseWhileAShardChangesHands(t *testing.T, st store.Store) {
	shard := 0
	x := &erasing{t: t, st: st, ioc: &taps{}, d: Deletion{
		PVs: []string{"A"}, From: t0 + 300e6, To: t0 + 600e6 - 1, Group: "lab/test", Reason: "bad calibration", Shard: &shard,
	}}
	a, b := x.start(time.Hour, Options{Checkpoint: time.Hour}), x.start(time.Hour, Options{Checkpoint: time.Hour})
	a.Apply(one(0, true, "A"))
	b.Apply(one(0, false, "A"))
	pair := fleet{a, b}
	eventually(t, "both have claimed and a leads", func() bool {
		return a.ShardStatus(0).Claimed && b.ShardStatus(0).Claimed && a.ShardStatus(0).Sealing
	})
	x.ioc.send("A", 0, 400)
	x.ioc.send("A", 500, 1000)
	x.sent = 1000
	x.erase(a)
	x.check(pair, "when the leader has deleted")
	x.ioc.send("A", 400, 500)
	x.check(pair, "after late samples")

	a.Apply(one(0, false, "A"))
	b.Apply(one(0, true, "A"))
	if _, err := a.Erase(t.Context(), x.d); err != nil && !errors.Is(err, ErrNotSealing) {
		t.Fatalf("while the leadership passes: %v", err)
	}
	eventually(t, "b leads", func() bool { return b.ShardStatus(0).Sealing })
	x.check(pair, "when the shard has changed hands")
	x.erase(b)
	x.ioc.send("A", 1000, 1200)
	x.sent = 1200
	x.check(pair, "in the middle of the deletion")
	eventually(t, "all samples are durable", func() bool { return a.Unsaved()+b.Unsaved() == 0 })
	b.kill()
	a.kill() // the journal has rows of both engines that nobody has sealed

	c := x.start(50*time.Millisecond, Options{Checkpoint: 20 * time.Millisecond, Exclusive: true})
	c.Apply(one(0, true, "A"))
	x.check(fleet{c}, "after the restart")
	x.ioc.send("A", 300, 310)
	eventually(t, "the samples are removed from blocks", func() bool {
		out, err := c.Erase(t.Context(), x.d)
		return err == nil && out.Removed == 1
	})
	x.ioc.send("A", 310, 320)
	x.ioc.send("A", 1200, 1300)
	x.sent = 1300
	x.check(fleet{c}, "when the deletion is done")
	eventually(t, "all samples are sealed", func() bool { return c.Unsaved() == 0 && c.Summary().MemoryBytes < 500 })
	c.end()
	x.check(nil, "at the end")
	if n := x.storedInRange(); n > 0 {
		t.Errorf("%d deleted samples are in blocks", n)
	}
	if kinds := marks(t, st, "A"); len(slices.DeleteFunc(kinds, func(k string) bool { return k != sample.SamplesDeleted.String() })) != 1 {
		t.Errorf("marks %v, want one of the deletion", kinds)
	}
}

// start starts an engine that drops blocks some time after it has copied them.
func (x *erasing) start(dropAfter time.Duration, opts Options) *life {
	return launch(x.t, x.st, x.ioc, opts, func(l *life) { l.sealCfg.DropAfter = dropAfter })
}

// erase waits until an engine has hidden the samples, and has begun to remove them.
func (x *erasing) erase(l *life) {
	x.t.Helper()
	eventually(x.t, "the deletion begins", func() bool {
		out, err := l.Erase(x.t.Context(), x.d)
		if err != nil {
			x.t.Log(err)
		} else if out.Hidden != 1 || out.Removed != 0 {
			x.t.Fatalf("deletion: %+v", out)
		}
		return err == nil
	})
}

// check expects all samples that were sent, without those of the deleted range.
func (x *erasing) check(engines fleet, when string) {
	x.t.Helper()
	r := &query.Reader{Store: x.st, Shards: 4}
	if engines != nil {
		r = engines.reader(x.st)
	}
	want := append(count(0, 300), count(600, x.sent)...)
	if got := values(x.t, r, "A"); !slices.Equal(got, want) {
		x.t.Fatalf("%s: %d samples, want %d: %v", when, len(got), len(want), got)
	}
}

// storedInRange counts the samples of the deleted range in blocks.
func (x *erasing) storedInRange() (n int) {
	x.t.Helper()
	c, _, err := x.st.Channel(x.t.Context(), "A")
	if err != nil {
		x.t.Fatal(err)
	}
	for b := range store.InUse(c.Starts, t0, time.Now().UnixNano()) {
		for blk, err := range x.st.Blocks(x.t.Context(), "A", b, math.MinInt64, math.MaxInt64) {
			r := new(sample.Run)
			if err != nil || scan.Decode(r, &blk) != nil {
				x.t.Fatal(err)
			}
			for _, at := range r.Times {
				if x.d.From <= at && at <= x.d.To {
					n++
				}
			}
		}
	}
	return n
}

// TestANewSealerBeginsADeletionAgain checks that a deletion begins once in each term of the sealer: a new one does not know how far the
// last one was.
func TestANewSealerBeginsADeletionAgain(t *testing.T) {
	d := &Deletion{From: 1, To: 2}
	first, second := new(seal.Shard), new(seal.Shard)
	h := &holding{sealer: first}
	expect := func(what string, sealer *seal.Shard, want ...string) {
		t.Helper()
		if got, rest := h.erasures.notBegun(h, []string{"A", "B"}, d); got != sealer || !slices.Equal(rest, want) {
			t.Errorf("%s: %v is not begun, want %v", what, rest, want)
		}
	}
	expect("at first", first, "A", "B")
	h.erasures.begin(first, []string{"A"}, d)
	expect("one has begun", first, "B")
	h.erasures.end("A", d)
	expect("it has ended", first, "A", "B")
	h.erasures.begin(first, []string{"A", "B"}, d)
	h.sealer = nil
	expect("while another engine leads", nil, "A", "B")
	h.sealer = second
	expect("a new sealer", second, "A", "B")
	h.erasures.begin(first, []string{"A"}, d) // the answer of the last sealer comes late
	expect("a late answer", second, "A", "B")
}
