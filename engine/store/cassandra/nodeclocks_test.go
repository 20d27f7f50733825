package cassandra_test

import (
	"testing"
	"time"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// TestClocks checks the clocks of the nodes, which run on this machine.
func TestClocks(t *testing.T) {
	st := open(t, config(t))
	before := time.Now()
	readings, err := st.Clocks(t.Context(), clock.SinceBoot)
	if err != nil || len(readings) != 1 {
		t.Fatalf("%d readings: %v", len(readings), err)
	}
	r := readings[0]
	ago := clock.SinceBoot() - r.At
	if ago < 0 || ago > time.Since(before)+time.Second {
		t.Errorf("the reading is from %v ago, by the clock since boot", ago)
	}
	if d := time.Since(time.Unix(0, r.Time)) - ago; d.Abs() > r.Within+2*time.Millisecond {
		t.Errorf("the clock of the node differs by %v, but is exact to %v", d, r.Within)
	}
	if d := time.Since(time.Unix(0, st.Now())); d.Abs() > r.Within+100*time.Millisecond {
		t.Errorf("the time by the nodes differs by %v", d)
	}
}

// TestArchivedAgainAfterADeletion checks that the rows of a PV that is archived again after its
// deletion are there, although the clock of the process that archives it is behind. A deletion
// leaves tombstones, which hide rows with earlier timestamps.
func TestArchivedAgainAfterADeletion(t *testing.T) {
	cfg := config(t)
	ahead, behind := cfg, cfg
	ahead.Now = func() time.Time { return time.Now().Add(time.Hour) }
	behind.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	archived := func(n uint32) (store.Channel, store.Block) {
		at := time.Date(2026, 11, 24, 0, 0, 0, int(n), time.UTC).UnixNano()
		b := store.Block{BlockKey: store.BlockKey{PV: "A", Bucket: store.Day.Of(at), Start: at, Writer: store.NewWriter(), N: n},
			End: at, Count: 1, Type: sample.Float64, Blob: []byte{1}}
		return store.Channel{PV: "A", Shards: []int{1}, Starts: []store.Bucket{b.Bucket}, Types: []sample.Type{b.Type}}, b
	}
	write := func(st store.Store, n uint32) {
		t.Helper()
		c, b := archived(n)
		for _, err := range []error{
			st.AddChannel(t.Context(), c), st.PutBlocks(t.Context(), b),
			st.PutMarks(t.Context(), store.PVMark{PV: "A", Mark: sample.Mark{Time: b.Start, Kind: sample.Connected}}),
			st.PutMetadata(t.Context(), store.PVMetadata{PV: "A", Time: b.Start, Metadata: sample.Metadata{Units: "mA"}}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	first, second := open(t, ahead), open(t, behind)
	write(first, 1)
	if err := first.Delete(t.Context(), "A"); err != nil {
		t.Fatal(err)
	}
	write(second, 2)
	c, found, err := second.Channel(t.Context(), "A")
	if err != nil || !found || len(c.Starts) != 1 || len(c.Shards) != 1 || len(c.Types) != 1 {
		t.Errorf("the directory has %v %+v: %v", found, c, err)
	}
	_, b := archived(2)
	blocks := 0
	for _, err := range second.Blocks(t.Context(), "A", b.Bucket, b.Start-10, b.Start+10) {
		if err != nil {
			t.Fatal(err)
		}
		blocks++
	}
	marks := 0
	for _, err := range second.Marks(t.Context(), "A", b.Start-10, b.Start+10) {
		if err != nil {
			t.Fatal(err)
		}
		marks++
	}
	_, described, err := second.MetadataAt(t.Context(), "A", b.Start)
	if blocks != 1 || marks != 1 || !described || err != nil {
		t.Errorf("after the deletion there are %d blocks, %d marks, and metadata: %v (%v); want what was written since", blocks, marks, described, err)
	}
}
