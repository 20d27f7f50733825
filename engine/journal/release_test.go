package journal

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/test/testclock"
)

// TestDurableSamplesLeaveMemoryFirst runs 200 slow PVs for half an hour without a sealer. Memory stays
// within its limit, and no sample is dropped, because all are in the journal.
func TestDurableSamplesLeaveMemoryFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, pvs = 256 << 10, 200
		b := newShardJournal(t, limit)
		defer b.stop()
		var heads []*Head
		for i := range pvs {
			heads = append(heads, b.Open(fmt.Sprint("PV", i), sample.Int64))
		}
		releases := 0
		for second := range 1800 {
			for _, h := range heads {
				b.Append(h, sample.Int64, number(second))
			}
			testclock.Advance(time.Second)
			if used := b.mem.Used(); used > limit*11/10 {
				t.Fatalf("after %d s, %d bytes of %d are used", second, used, limit)
			}
			if after, to, some := b.Released(); some {
				releases++
				if after != 0 || to > b.Acked() {
					t.Fatalf("rows from %d to %d are released, of %d", after, to, b.Acked())
				}
			}
		}
		if len(b.lost) != 0 || b.cfg.Metrics.Dropped.Load() != 0 {
			t.Errorf("%d samples are dropped, with the marks %v", b.cfg.Metrics.Dropped.Load(), b.lost)
		}
		if got := b.cfg.Metrics.Samples.Load(); got < pvs*(1800-1) || releases == 0 {
			t.Errorf("%d samples are in the journal, and rows were released in %d seconds", got, releases)
		}
		b.NoteSealed(b.Acked())
		if _, _, some := b.Released(); some {
			t.Error("sealed rows count as released")
		}
	})
}

// TestSealedAfterRelease checks that samples which arrive while the sealer writes blocks stay,
// although memory released the sealer's samples meanwhile.
func TestSealedAfterRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newShardJournal(t, 1<<20)
		defer b.stop()
		h := b.Open("a", sample.Int64)
		feed := func(from, to int) {
			for i := from; i < to; i++ {
				b.Append(h, sample.Int64, number(i))
			}
			testclock.Advance(time.Second)
		}
		feed(0, 10)
		var r sample.Run
		through := h.Unsealed(&r, 1<<20)
		b.release()
		feed(10, 15)
		h.Sealed(through)
		if n := h.Acked(); r.Len() != 10 || n != 5 {
			t.Errorf("%d samples were sealed, %d are left; want 10 and 5", r.Len(), n)
		}
		if h.Durable() != 15 {
			t.Errorf("%d samples became durable", h.Durable())
		}
	})
}

// TestManySlowPVsStayWithinMemory checks that an engine whose store is away drops samples of PVs
// that each have only a few in memory: memory holds less than one sample of each PV.
func TestManySlowPVsStayWithinMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, pvs = 32 << 10, 2000
		b := newShardJournal(t, limit)
		defer b.stop()
		testclock.Advance(time.Second)
		b.store.setFail(func(*store.JournalRow) error { return errors.New("away") })
		var heads []*Head
		for i := range pvs {
			heads = append(heads, b.Open(fmt.Sprint("PV", i), sample.Int64))
		}
		for i := range 60 {
			for _, h := range heads {
				b.Append(h, sample.Int64, number(i))
			}
			testclock.Advance(10 * time.Second)
			if used := b.mem.Used(); i > 0 && used > limit*5/4 {
				t.Fatalf("after %d samples of each PV, %d bytes of %d are used", i+1, used, limit)
			}
		}
		samples := 0
		for _, h := range heads {
			samples += h.unsaved()
		}
		lost := uint64(0)
		for _, m := range b.lost {
			lost += m.Count
		}
		if lost != b.cfg.Metrics.Dropped.Load() || int(lost)+samples != 60*pvs {
			t.Errorf("%d samples wait, %d are marked and %d counted as lost, of %d", samples, lost, b.cfg.Metrics.Dropped.Load(), 60*pvs)
		}
		b.store.setFail(nil)
	})
}

// TestTheMarkOfADropCoversAllTimes drops samples whose times are not in order, because the clock of their IOC was
// set back. The mark must cover all of them.
func TestTheMarkOfADropCoversAllTimes(t *testing.T) {
	mem := NewMemory(1 << 20)
	j := NewShardJournal(0, store.WriterID{1}, &Config{Memory: mem, Metrics: NewMetrics(prometheus.NewRegistry(), mem)})
	h := j.Open("a", sample.Int64)
	for _, at := range []int64{30, 40, 10, 20} {
		h.add(&sample.Sample{Time: at})
	}
	rest := 0.0
	if n, from, to := h.shed(1, &rest); n != 4 || from != 10 || to != 40 {
		t.Errorf("%d samples are dropped, from %d to %d", n, from, to)
	}
	b := j.Open("b", sample.String)
	b.add(&sample.Sample{Time: 50, Bytes: make([]byte, largeValue)})
	b.add(&sample.Sample{Time: 20, Bytes: make([]byte, largeValue)})
	if n, from, to := b.addLarge(&sample.Sample{Time: 30, Bytes: make([]byte, 2<<20)}); n != 3 || from != 20 || to != 50 {
		t.Errorf("%d large samples are dropped, from %d to %d", n, from, to)
	}
}
