package pebble

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"varve.dev/varve/engine/store"
)

// TestRowsAreRefusedBeforeTheDiskIsFull checks that the store refuses rows while there is little free
// space, that it can still delete rows, and that it accepts rows again afterwards.
func TestRowsAreRefusedBeforeTheDiskIsFull(t *testing.T) {
	s, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var disk vfs.DiskUsage
	s.usage = func() (vfs.DiskUsage, error) { return disk, nil }
	add := func() error { return s.AddChannel(t.Context(), store.Channel{PV: "A"}) }
	remove := func() error { return s.Delete(t.Context(), "A") }
	for _, c := range []struct {
		name          string
		total, free   uint64 // MiB
		added, erased bool
	}{
		{"enough", 10_000, 200, true, true},
		{"nearly full", 10_000, 120, false, true},
		{"full", 10_000, 10, false, false},
		{"enough again", 10_000, 129, true, true},
		{"small disk", 256, 40, true, true},
		{"small disk, nearly full", 256, 30, false, true},
		{"unknown", 0, 0, true, true},
	} {
		disk = vfs.DiskUsage{TotalBytes: c.total << 20, AvailBytes: c.free << 20}
		for what, got := range map[string]struct {
			err error
			ok  bool
		}{"adding": {add(), c.added}, "deleting": {remove(), c.erased}} {
			if (got.err == nil) != got.ok || got.err != nil && !errors.Is(got.err, store.ErrDiskFull) {
				t.Errorf("%s, %s: %v", c.name, what, got.err)
			}
		}
	}
}
