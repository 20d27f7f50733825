package seal

import (
	"math"
	"testing"

	"varve.dev/varve/engine/layout/layouttest"
	"varve.dev/varve/engine/store"
)

// TestAnImportDoesNotBringDeletedSamplesBack imports samples, some of which are in a deleted range.
func TestAnImportDoesNotBringDeletedSamplesBack(t *testing.T) {
	cfg := newImporterConfig(t)
	if err := cfg.Store.AddChannel(t.Context(), store.Channel{PV: "A", Deleted: []store.Deleted{{From: noon + 10, To: noon + 20}}}); err != nil {
		t.Fatal(err)
	}
	m := NewImporter("A", 1, true, cfg)
	defer m.Close()
	expired, err := m.Store(t.Context(), layouttest.Numbers(noon, noon+10, noon+15, noon+20, noon+21))
	if err != nil || expired != 3 {
		t.Errorf("%d samples are refused, %v", expired, err)
	}
	for at, want := range map[int64]int64{noon + 9: noon, noon + 20: noon, noon + 21: noon + 21} {
		if got := lastBefore(t, cfg, at); got != want {
			t.Errorf("the last sample at %d is that of %d, want %d", at-noon, got-noon, want-noon)
		}
	}
}

// TestADamagedRangeDropsNoSamples seals samples of a PV whose directory entry has a deleted range that has not ended. Nobody
// can delete the future, so the range is damaged. The samples must be stored.
func TestADamagedRangeDropsNoSamples(t *testing.T) {
	cfg := newImporterConfig(t)
	ranges := []store.Deleted{{From: noon + 10, To: noon + 20}, {From: noon + 30, To: math.MaxInt64}}
	if err := cfg.Store.AddChannel(t.Context(), store.Channel{PV: "A", Deleted: ranges}); err != nil {
		t.Fatal(err)
	}
	m := NewImporter("A", 1, true, cfg)
	defer m.Close()
	expired, err := m.Store(t.Context(), layouttest.Numbers(noon, noon+15, noon+40, noon+50))
	if err != nil || expired != 1 {
		t.Errorf("%d samples are refused, %v; want 1", expired, err)
	}
	if got := lastBefore(t, cfg, noon+60); got != noon+50 {
		t.Errorf("the last sample is that of %d", got-noon)
	}
	if f := m.shard.cfg.Found().Found(); f.Count != 1 || f.First != "the directory entry of A" {
		t.Errorf("found %+v", f)
	}
}
