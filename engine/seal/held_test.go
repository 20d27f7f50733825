package seal

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// sendRows adds rows with late samples of some PVs to the journal of a writer that ends. It returns the
// writer.
func (o *outage) sendRows(rows int, pvs ...string) store.WriterID {
	leader, all := o.sealer, o.pvs
	o.pvs = pvs
	g := o.launch()
	step := int64(outageSpan) / int64(rows)
	for i := range int64(rows) {
		o.append(g, o.begins+i*step, o.begins+(i+1)*step)
	}
	o.setTerm(g, store.Follows)
	g.end()
	o.engines, o.sealer, o.pvs = o.engines[:len(o.engines)-1], leader, all
	return g.shardJournal.Writer()
}

// hasClaim reports whether the store has a claim of a writer.
func (o *outage) hasClaim(w store.WriterID) bool {
	claims, err := o.st.Claims(o.t.Context(), 0)
	if err != nil {
		o.t.Fatal(err)
	}
	return slices.ContainsFunc(claims, func(c store.Claim) bool { return c.Writer == w })
}

// seal seals the rows of writers that have ended, several times.
func (o *outage) seal(times int) {
	o.t.Helper()
	for range times {
		testclock.Advance(watchEvery)
		if err := o.sealer.shard.adoptEnded(o.t.Context()); err != nil {
			o.t.Fatal(err)
		}
	}
}

// TestADamagedRowIsNotHeld damages a row behind rows that wait for corrections. Reads of the PVs in the damaged
// row fail until the sealed position has passed it. So the corrections must be due at once.
func TestADamagedRowIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, time.Hour, 2*time.Hour)
		w := o.sendRows(4, o.pvs...)
		row := &o.st.journal[w][2]
		row.Blob = slices.Clone(row.Blob)
		row.Blob[len(row.Blob)/2] ^= 1
		losses := o.sealer.collectLosses()
		if err := o.sealer.shard.Checkpoint(t.Context()); err == nil {
			t.Error("the checkpoint does not report the damaged row")
		}
		if len(o.sealer.shard.held[w]) == 0 {
			t.Fatal("the rows before the damaged row do not wait for corrections")
		}
		testclock.Advance(rowGrace + time.Second)
		o.checkpoint(o.sealer)
		o.seal(2)
		if o.hasClaim(w) || len(*losses) != outagePVs {
			t.Errorf("the claim of the writer exists: %v; %d losses are reported", o.hasClaim(w), len(*losses))
		}
		for range 20 {
			o.compareBins(o.pvs[1])
		}
	})
}

// TestARefusedPVHoldsOnlyItsRows refuses the tiles of a PV. The rows of a writer without samples of this
// PV must not wait for it, even if their PVs became late after it.
func TestARefusedPVHoldsOnlyItsRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, 0, 0)
		bad, good := o.pvs[0], o.pvs[1]
		o.refusing(bad, false)
		with := o.sendRows(3, bad, good)
		o.seal(1)
		without := o.sendRows(3, good)
		o.seal(3)
		if !o.hasClaim(with) || o.hasClaim(without) {
			t.Errorf("the claim of the writer with the refused PV exists: %v; that of the other writer exists: %v", o.hasClaim(with), o.hasClaim(without))
		}
		for range 20 {
			o.compareBins(good)
			o.compareBins(bad)
		}
		o.refusing("", false)
		testclock.Advance(2 * time.Minute)
		o.seal(3)
		if o.hasClaim(with) {
			t.Error("the rows wait although the store no longer refuses the tiles")
		}
	})
}

// TestRowsWaitForTheirOwnLateSamples holds rows of a writer whose PVs become late again and again. Each of
// the rows waits only for the late samples that it had when it was held.
func TestRowsWaitForTheirOwnLateSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, 0, 0)
		s := o.sealer.shard
		w := store.WriterID{7}
		late := func(pv string, n uint64) lateSamples { return lateSamples{pv: n} }
		for i := range uint64(2 * maxHeld) {
			s.hold(w, heldRows{to: store.Position(10 + i), late: late("X", 1+i/maxHeld), bytes: 1})
		}
		if n := len(s.held[w]); n != maxHeld {
			t.Errorf("%d ranges are held", n)
		}
		known := 0
		for _, h := range s.held[w] {
			known += len(h.late)
		}
		if known != 2 || s.heldBytes() != 2*maxHeld || s.heldTo(w) != 10+2*maxHeld-1 {
			t.Errorf("the ranges know %d late samples, have %d bytes, and end at %d", known, s.heldBytes(), s.heldTo(w))
		}
		if s.hold(w, heldRows{to: 11, late: late("X", 2)}); s.held[w][0].late["X"] != 2 {
			t.Error("the first range does not wait for samples that the store had refused")
		}
		if s.hold(w, heldRows{to: 11, late: late("X", 1)}); s.held[w][0].late["X"] != 2 {
			t.Error("the first range waits for samples that the tiles have, and not for later ones")
		}
		delete(s.held, w)
	})
}

// TestADeathEndsWhenItIsFound holds rows of a writer that died for an hour. The mark of its death must not
// cover this hour: the writer counted as dead long before.
func TestADeathEndsWhenItIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, 0, 0)
		var from, to []int64
		o.sealer.shard.cfg.Died = func(_ context.Context, _ int, f, t int64) error {
			from, to = append(from, f), append(to, t)
			return nil
		}
		o.refusing(o.pvs[0], false)
		w := o.sendRows(1, o.pvs[0])
		_ = o.st.with(func() {
			c := o.st.claims[w]
			c.Closed = false
			o.st.claims[w] = c
		})
		o.seal(1)
		seen := time.Now()
		testclock.Advance(time.Hour)
		o.seal(1)
		if len(to) > 0 || !o.hasClaim(w) {
			t.Fatal("the rows are not held")
		}
		o.refusing("", false)
		testclock.Advance(time.Hour)
		o.seal(2)
		if len(to) != 1 || to[0] != seen.Add(15*time.Second).UnixNano() || from[0] > to[0] {
			t.Errorf("the deaths last from %v to %v, want one until %d", from, to, seen.Add(15*time.Second).UnixNano())
		}
	})
}

// TestAReleasedShardIsNotDead releases a shard of the same engine after the claims were read, and before
// the sealer asks whether the writer belongs to the engine.
func TestAReleasedShardIsNotDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, 0, 0)
		w := store.WriterID{0xaa}
		closed := func(is bool) {
			now := time.Now().UnixNano()
			_ = o.st.with(func() { o.st.claims[w] = store.Claim{Writer: w, Since: now, Alive: now, Closed: is} })
		}
		closed(false)
		cfg := o.sealer.shard.cfg
		cfg.Silence = 0
		cfg.Died = func(context.Context, int, int64, int64) error {
			t.Error("the sealer marks a death")
			return nil
		}
		released := false
		cfg.Ours = func(of store.WriterID) bool {
			if of != w || !released {
				return of == w
			}
			closed(true)
			return false
		}
		o.seal(2)
		released = true
		o.seal(3)
		if o.hasClaim(w) {
			t.Error("the claim of the released shard stays")
		}
	})
}
