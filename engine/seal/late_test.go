package seal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// outage is a shard whose PVs are captured again after an outage, while the samples from the outage
// arrive late, in many batches. Each batch is the journal of a writer that ends, like a segment of a
// spool.
type outage struct {
	*simulation
	pvs           []string
	begins, ended int64 // the outage, in ns since 1970
	fresh         int64 // time of the oldest sample that no checkpoint has sealed
}

const (
	outagePVs     = 20
	outageSpan    = 2 * time.Hour
	outageBatches = 24
	outageEvery   = 10 * time.Second // between two samples of a PV
)

// newOutage captures all PVs for an hour before the outage, and for an hour after it. Corrections
// wait for the given times.
func newOutage(t *testing.T, quiet, age time.Duration) *outage {
	o := &outage{simulation: newSimulation(t, 1, simLevels...)}
	o.lateQuiet, o.lateAge, o.leading = quiet, age, true
	for i := range outagePVs {
		o.pvs = append(o.pvs, fmt.Sprintf("P%02d", i))
	}
	testclock.Advance(3 * time.Hour)
	o.launch()
	o.captureAndSeal(4)
	o.begins = time.Now().UnixNano()
	testclock.Advance(outageSpan)
	o.ended = time.Now().UnixNano()
	o.captureAndSeal(4)
	clear(o.st.tileWrites)
	return o
}

// append adds samples from a span of time to the journal of an engine.
func (o *outage) append(g *simEngine, from, to int64) {
	for _, pv := range o.pvs {
		h := g.shardJournal.Open(pv, sample.Float64)
		for t := from; t < to; t += int64(outageEvery) {
			s := sample.Sample{Time: t + int64(time.Second), Word: math.Float64bits(float64(t / int64(time.Second) % 997))}
			g.shardJournal.Append(h, sample.Float64, &s)
		}
	}
	if err := g.shardJournal.Sync(context.Background()); err != nil {
		o.t.Fatal(err)
	}
}

// capture lets the leader capture all PVs for a time.
func (o *outage) capture(d time.Duration) {
	o.fresh = time.Now().UnixNano()
	testclock.Advance(d)
	o.append(o.sealer, o.fresh, o.fresh+int64(d))
}

// captureAndSeal captures all PVs, and seals them at checkpoints.
func (o *outage) captureAndSeal(checkpoints int) {
	for range checkpoints {
		o.capture(15 * time.Minute)
		o.checkpoint(o.sealer)
	}
}

// sendBatch adds the journal of a writer with a part of the samples of the outage, and ends it.
func (o *outage) sendBatch(i int) {
	leader := o.sealer
	g := o.launch()
	step := int64(outageSpan) / outageBatches
	o.append(g, o.begins+int64(i)*step, o.begins+int64(i+1)*step)
	o.setTerm(g, store.Follows)
	g.end()
	o.engines, o.sealer = o.engines[:len(o.engines)-1], leader
}

// sendBatches sends all samples of the outage. The leader seals them in between, and makes a few
// checkpoints. sendBatches returns for how many operations of the store the fresh samples waited at
// such a checkpoint, at most.
func (o *outage) sendBatches() (waited int) {
	for i := range outageBatches {
		o.sendBatch(i)
		if i%6 < 5 {
			testclock.Advance(watchEvery)
			if err := o.sealer.shard.adoptEnded(o.t.Context()); err != nil {
				o.t.Fatal(err)
			}
			continue
		}
		o.capture(time.Minute)
		begun, sealed := o.st.ops, 0
		o.st.stored = func(b *store.Block) {
			if sealed == 0 && b.Count > 0 && b.End >= o.fresh {
				sealed = o.st.ops
			}
		}
		o.checkpoint(o.sealer)
		o.st.stored = nil
		waited = max(waited, sealed-begun)
	}
	return waited
}

// written returns how many tiles have bins of the outage, and how often they were written: all
// together, and one of them at most.
func (o *outage) written() (tiles, all, most int) {
	for k, n := range o.st.tileWrites {
		if k.level.Start(k.tile) < o.ended {
			tiles, all, most = tiles+1, all+n, max(most, n)
		}
	}
	return tiles, all, most
}

// verifyOutage checks that all tiles agree with the samples.
func (o *outage) verifyOutage() {
	o.t.Helper()
	for _, pv := range o.pvs {
		for _, l := range simLevels {
			bins, sure := o.sealed(pv, l)
			count := uint64(0)
			for i := range bins {
				count += bins[i].Count
			}
			if want := uint64((2*time.Hour + outageSpan) / outageEvery); count < want {
				o.t.Fatalf("%s: %d samples are in blocks, want at least %d", pv, count, want)
			}
			o.verify(pv, l, bins, sure)
		}
	}
}

// TestLateSamplesAreCorrectedOnce sends the samples of an outage in many batches. Each tile must be
// written about once, not once per batch, and fresh samples must not wait for tiles. What readers get
// must always agree with the samples.
func TestLateSamplesAreCorrectedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, 5*time.Minute, 30*time.Minute)
		waited := o.sendBatches()
		if len(o.sealer.shard.held) == 0 {
			t.Error("no rows wait for corrections")
		}
		o.compareOutage()
		o.captureAndSeal(3)
		tiles, all, most := o.written()
		t.Logf("%d tiles of the outage were written %d times, each at most %d times; fresh samples waited for %d operations", tiles, all, most, waited)
		if most > 4 || all > 2*tiles {
			t.Errorf("%d tiles of the outage were written %d times, one of them %d times", tiles, all, most)
		}
		if waited > 2*outagePVs {
			t.Errorf("fresh samples waited for %d operations of the store", waited)
		}
		o.expectAllReleased()
	})
}

// compareOutage checks what readers get for random ranges.
func (o *outage) compareOutage() {
	o.t.Helper()
	for _, pv := range o.pvs[:3] {
		for range 5 {
			o.compareBins(pv)
		}
	}
}

// expectAllReleased checks that nothing waits any longer, and that the tiles are right.
func (o *outage) expectAllReleased() {
	o.t.Helper()
	o.checkpoint(o.sealer)
	if n := len(o.sealer.shard.held); n > 0 {
		o.t.Errorf("rows of %d writers wait", n)
	}
	claims, err := o.st.Claims(o.t.Context(), 0)
	if err != nil || len(claims) != len(o.engines) {
		o.t.Errorf("%d claims are left (%v), want those of %d engines", len(claims), err, len(o.engines))
	}
	o.verifyOutage()
}

// TestLateSamplesSurviveACrash loses what a sealer remembers of late samples, and checks that its
// successor corrects the tiles.
func TestLateSamplesSurviveACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, 5*time.Minute, 30*time.Minute)
		o.sendBatches()
		o.compareOutage()
		o.lead(o.sealer) // with a new Shard
		o.compareOutage()
		o.captureAndSeal(3)
		o.expectAllReleased()
	})
}

// TestLateSamplesDoNotWaitForever sends a batch every few minutes, so that the samples of a PV are
// never quiet. The corrections must follow after the longest time.
func TestLateSamplesDoNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, 5*time.Minute, 30*time.Minute)
		released := -1
		for i := range outageBatches {
			o.sendBatch(i)
			testclock.Advance(4 * time.Minute)
			if err := o.sealer.shard.adoptEnded(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(o.sealer.shard.held) == 0 && released < 0 {
				released = i
			}
		}
		if released < 6 || released > 8 {
			t.Errorf("the first rows are released at batch %d, want one after about 30 minutes", released)
		}
		o.compareOutage()
	})
}

// refusing makes the store refuse to write the tiles of a PV, or to read them, or to do either if the PV
// is empty.
func (m *simulation) refusing(pv string, reads bool) {
	refuse := func(of string) error {
		if of == pv {
			return errors.New("the tile is refused")
		}
		return nil
	}
	_ = m.st.with(func() {
		m.st.refuseTile = func(r *store.Rollup) error { return refuse(r.PV) }
		m.st.refuseRead = nil
		if reads {
			m.st.refuseTile, m.st.refuseRead = nil, refuse
		}
	})
}

// TestCorrectionsAreMadeInSteps makes many PVs late at the same time. One pass must correct the tiles of a limited number of
// them, because sealing waits for it. If samples arrive faster than they are sealed, corrections must wait for longer.
func TestCorrectionsAreMadeInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const quiet, age, rest = 5 * time.Minute, 30 * time.Minute, 22
		o := newOutage(t, quiet, age)
		o.pvs = nil
		for i := range correctMost + rest {
			o.pvs = append(o.pvs, fmt.Sprintf("Q%03d", i))
		}
		o.captureAndSeal(2)
		o.sendBatch(0)
		s := o.sealer.shard
		pass := func(want int) {
			t.Helper()
			if err := s.adoptEnded(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := len(s.tiles.Late()); n != want {
				t.Errorf("after a pass %d PVs are late, want %d", n, want)
			}
		}
		pass(correctMost + rest)
		s.cfg.Memory.Add(s.cfg.Memory.Limit())
		testclock.Advance(quiet + time.Minute)
		pass(correctMost + rest)
		s.cfg.Memory.Add(-s.cfg.Memory.Limit())
		pass(rest)
		pass(0)
	})
}

// TestRefusedTilesDoNotKeepOthersWaiting refuses the tiles of one PV while late samples arrive: in
// rows of another writer, and in those of the leader. The samples of the other PVs must be sealed and
// their tiles corrected, readers must see all samples, and no block may be written again and again.
func TestRefusedTilesDoNotKeepOthersWaiting(t *testing.T) { refuseTiles(t, false) }

// TestUnreadableTilesDoNotKeepOthersWaiting is TestRefusedTilesDoNotKeepOthersWaiting with a store that
// refuses to read the tiles of the PV.
func TestUnreadableTilesDoNotKeepOthersWaiting(t *testing.T) { refuseTiles(t, true) }

func refuseTiles(t *testing.T, reads bool) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t, 0, 0)
		bad, good := o.pvs[0], o.pvs[1]
		o.refusing(bad, reads)
		o.sendBatch(0)
		step := int64(outageSpan) / outageBatches
		o.append(o.sealer, o.begins+step, o.begins+2*step)
		if reads {
			o.lead(o.sealer) // a new leader must read tiles before it seals
		}
		for range 20 {
			o.capture(15 * time.Minute)
			if err := o.sealer.shard.Checkpoint(t.Context()); err != nil && !strings.Contains(err.Error(), bad) {
				t.Fatal(err)
			}
			for range 2 {
				o.compareBins(good)
				if !reads { // otherwise readers get an error
					o.compareBins(bad)
				}
			}
		}
		if err := o.sealer.shard.Delete(t.Context(), []string{bad}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("the deletion of a PV whose rows are not sealed returns %v", err)
		}
		o.expectSealed(good)
		o.refusing("", false)
		o.captureAndSeal(2)
		o.expectSealed(good)
		o.expectSealed(bad)
		claims, _ := o.st.Claims(t.Context(), 0)
		if len(claims) != 1 || claims[0].Sealed != o.sealer.shardJournal.Acked() {
			t.Errorf("the claims are %+v, and %x is journalled", claims, o.sealer.shardJournal.Acked())
		}
	})
}

// expectSealed checks that the samples of refuseTiles of a PV are in blocks, few of them twice, and that
// the tiles agree with them.
func (o *outage) expectSealed(pv string) {
	o.t.Helper()
	want := int((2*time.Hour + 2*outageSpan/outageBatches + 20*15*time.Minute) / outageEvery)
	if n, all := o.samplesInBlocks(pv); n < want || all > want*5/4 {
		o.t.Errorf("%s: %d samples are in blocks, %d with duplicates; want %d", pv, n, all, want)
	}
	bins, sure := o.sealed(pv, simLevels[0])
	o.verify(pv, simLevels[0], bins, sure)
}
