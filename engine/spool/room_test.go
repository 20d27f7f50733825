package spool

import (
	"errors"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
)

// TestAFullSpoolDropsTheOldestRows puts more rows than the spool has room for.
func TestAFullSpoolDropsTheOldestRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, to := vfs.NewMem(), newArchive()
		cfg := config(fs)
		cfg.Size = 300_000
		b := start(t, cfg)
		b.segmentBytes = 20_000
		b.put(newRow(1, 0, 10, "old"))
		b.stop()
		b = start(t, config2(cfg))
		b.segmentBytes = 20_000
		to.setFail(always)
		b.drain(to)
		const rows = 9000
		for i := range rows {
			b.put(newRow(i%4, 10*(i/4), 10*(i/4)+10, pvOf(i%4)))
			if got := b.bytesLocked(); got > cfg.Size {
				t.Fatalf("the spool takes %d bytes", got)
			}
		}
		c := b.Counts()
		if c.Dropped == 0 || c.Dropped+uint64(c.Waiting) != rows*10 || c.Waiting < rows*10/4 {
			t.Errorf("%+v of %d", c, rows*10)
		}
		to.setFail(nil)
		advance(time.Minute)
		dropped := uint64(0)
		for shard := range 4 {
			pv := pvOf(shard)
			got, m := to.words(t, shard, pv), to.lost[pv]
			if !slices.Equal(got, count(rows/4*10-len(got), rows/4*10)) {
				t.Errorf("%s: the kept samples are not the latest", pv)
			}
			first := int64(rows/4*10-len(got)-1) * 1e6
			if m.Kind != sample.Lost || m.Reason != sample.Overflow || int(m.Count) != rows/4*10-len(got) || m.Time != 0 || m.End != first || to.ours[pv] != m.Count {
				t.Errorf("%s: %d samples are kept, the mark is %+v", pv, len(got), m)
			}
			dropped += m.Count
		}
		if dropped != c.Dropped {
			t.Errorf("%d samples are marked, %d dropped", dropped, c.Dropped)
		}
		if m := to.lost["old"]; m.Count != 10 || to.ours["old"] != 0 {
			t.Errorf("samples of the earlier process: %+v, %d counted as ours", m, to.ours["old"])
		}
	})
}

// TestASegmentBeingSentIsNotDropped fills a spool while the drainer sends one of its segments.
func TestASegmentBeingSentIsNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newArchive()
		cfg := config(vfs.NewMem())
		cfg.Size = 100_000
		b := start(t, cfg)
		b.segmentBytes = 20_000
		to.slow = time.Second
		b.drain(to)
		const rows = 2000
		for i := range rows {
			b.put(newRow(0, 10*i, 10*i+10, "A"))
		}
		advance(time.Hour)
		got := to.words(t, 0, "A")
		if !slices.IsSorted(got) || got[0] != 0 || got[len(got)-1] != rows*10-1 || len(got)+int(to.lost["A"].Count) != rows*10 {
			t.Errorf("%d samples are sent, %d marked, of %d", len(got), to.lost["A"].Count, rows*10)
		}
	})
}

// TestAFailingDiskIsRetriedLater checks that the spool refuses rows while the disk fails, and
// names the cause. Later it accepts rows again.
func TestAFailingDiskIsRetriedLater(t *testing.T) {
	for name, op := range map[string]errorfs.OpKind{"create": errorfs.OpCreate, "write": errorfs.OpFileWrite, "sync": errorfs.OpFileSync} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				mem, to := vfs.NewMem(), newArchive()
				b := start(t, config(errorfs.Wrap(mem, errorfs.InjectorFunc(func(o errorfs.Op) error {
					if broken.Load() && o.Kind == op {
						return syscall.ENOSPC
					}
					return nil
				}))))
				b.segmentBytes = 1000
				b.fill(0, 100)
				broken.Store(true)
				rows := []journal.SpoolRow{newRow(0, 100, 110, pvOf(0))}
				for len(files(t, mem)) > 0 {
					if err := b.Put(rows); err != nil {
						if !errors.Is(err, syscall.ENOSPC) || !errors.Is(b.Failure(), syscall.ENOSPC) {
							t.Errorf("Put fails with %v, Failure returns %v", err, b.Failure())
						}
						break
					}
				}
				if err := b.Put(rows); !errors.Is(err, errCooldown) {
					t.Errorf("an immediate retry returns %v", err)
				}
				if got := b.held(0, pvOf(0)); !slices.Equal(got[:100], count(0, 100)) {
					t.Errorf("%d samples can be read", len(got))
				}
				broken.Store(false)
				advance(cooldown)
				waiting := b.Counts().Waiting
				b.put(newRow(1, 100, 110, pvOf(1)))
				if b.Failure() != nil || b.Counts().Waiting != waiting+10 {
					t.Errorf("the disk works again, but Failure returns %v", b.Failure())
				}
				b.drain(to)
				advance(time.Minute)
				if got := to.words(t, 1, pvOf(1)); !slices.Equal(got, count(0, 110)) {
					t.Errorf("%d samples are sent", len(got))
				}
				b.stop()
				b = start(t, config(mem))
				if c := b.Counts(); c.Waiting > 0 {
					t.Errorf("%d samples are left", c.Waiting)
				}
			})
		})
	}
}
