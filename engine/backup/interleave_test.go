package backup

import (
	"slices"
	"testing"
	"time"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// An engine works between any two reads of a backup: it captures, seals, and hands over to another engine, which drops the
// claim. The restored archive has all samples that were acknowledged before the backup began, once, and so it has after an
// engine has sealed the restored journal.
func TestSamplesMoveWhileABackupIsMade(t *testing.T) {
	acts := map[string]func(w *world){
		"nothing":       func(*world) {},
		"checkpoint":    func(w *world) { w.send(7); w.checkpoint() },
		"2 checkpoints": func(w *world) { w.send(7); w.checkpoint(); w.send(7); w.checkpoint(); w.send(3) },
		"hand-over":     func(w *world) { w.send(7); w.replace(); w.send(3) },
	}
	calls := backupMeanwhile(t, -1, "nothing", acts["nothing"])
	for _, c := range []string{"Claims", "Journal", "PVs", "Channel", "Blocks", "Rollups", "Marks", "Cutoff"} {
		if !slices.Contains(calls, c) {
			t.Fatalf("the backup did not call %s: %v", c, calls)
		}
	}
	for at, call := range calls {
		for name, act := range acts {
			if name != "nothing" {
				backupMeanwhile(t, at, name+" before call "+call, act)
			}
		}
	}
}

// backupMeanwhile makes a backup, during which act happens before call number at, and restores it.
func backupMeanwhile(t *testing.T, at int, what string, act func(w *world)) (calls []string) {
	t.Helper()
	st := open(t, t.TempDir())
	w := newWorld(t, st, "A:1", "B:2")
	w.send(3000) // more than a tile of rollups
	w.checkpoint()
	w.send(40)
	w.checkpoint()
	w.send(50)
	n := w.sent
	d := NewDir(t.TempDir())
	create(t, hooked{st, func(call string) {
		if len(calls) == at {
			act(w)
		}
		calls = append(calls, call)
	}}, d, "b")
	_, report, err := Verify(t.Context(), d, "b", VerifyOptions{Deep: true})
	must(t, err)
	if report.Count > 0 {
		t.Fatalf("%s: verify found %v", what, report.Problems)
	}
	got := restored(t, d, "b")
	w.checkRead(got, n, what)
	checkArchive(t, got, what)
	w.close()
	after := newWorld(t, got, w.pvs...)
	after.begin = w.begin
	after.checkpoint()
	after.checkRead(got, n, what+", sealed after the restore")
	checkArchive(t, got, what+", sealed after the restore")
	for shard := range 2 * shards {
		claims, err := got.Claims(t.Context(), shard)
		must(t, err)
		for _, c := range claims {
			if c.Writer != after.engine.journal.Writer() {
				t.Errorf("%s: the claim of writer %v was not dropped", what, c.Writer)
			}
		}
	}
	after.close()
	release(t, got)
	release(t, st)
	return calls
}

// The retention of a PV changes: its blocks are copied to another tier before any call, and deleted an hour later, before
// any later call.
func TestSamplesMoveToAnotherTierWhileABackupIsMade(t *testing.T) {
	for _, listed := range []bool{false, true} { // whether the directory lists the other tier already
		for _, lists := range []bool{false, true} { // whether the store lists buckets, as Cassandra does not
			calls := backupMoving(t, listed, lists, -1, -1)
			begin, end := slices.Index(calls, "Channel"), slices.Index(calls, "Marks")
			for first := begin; first < end; first++ {
				for second := first; second <= end; second++ {
					backupMoving(t, listed, lists, first, second)
				}
			}
		}
	}
}

func backupMoving(t *testing.T, listed, lists bool, first, second int) (calls []string) {
	t.Helper()
	st := open(t, t.TempDir())
	now := time.Now()
	from := store.Day.Of(now.Add(-48 * time.Hour).UnixNano()).In(store.Keep90d)
	to := from.In(store.Forever)
	blk := numbers(t, "M", from, 10)
	must(t, st.AddChannel(t.Context(), store.Channel{PV: "M", Starts: []store.Bucket{from}, Types: []sample.Type{sample.Float64}}))
	must(t, st.PutBlocks(t.Context(), blk))
	if listed {
		must(t, st.AddChannel(t.Context(), store.Channel{PV: "M", Starts: []store.Bucket{to}}))
	}
	d := NewDir(t.TempDir())
	var source store.Store = hooked{st, func(call string) {
		if len(calls) == first {
			must(t, st.AddChannel(t.Context(), store.Channel{PV: "M", Starts: []store.Bucket{to}}))
			moved := blk
			moved.Bucket = to
			must(t, st.PutBlocks(t.Context(), moved))
		}
		if len(calls) == second {
			now = now.Add(time.Hour)
			_, err := st.DropBucket(t.Context(), "M", from, time.Now().Add(time.Hour).UnixNano())
			must(t, err)
		}
		calls = append(calls, call)
	}}
	if !lists {
		source = struct{ store.Store }{source}
	}
	_, err := Create(t.Context(), source, d, CreateOptions{Name: "b", Shards: shards, Now: func() time.Time { return now }})
	must(t, err)
	got := restored(t, d, "b")
	found := 0
	for _, b := range []store.Bucket{from, to} {
		for _, err := range got.Blocks(t.Context(), "M", b, b.Start(), b.End()) {
			must(t, err)
			found++
		}
	}
	if found == 0 {
		t.Errorf("moved before call %d, deleted before call %d of %v (listed before: %v): the block is in neither tier", first, second, calls, listed)
	}
	c, _, err := got.Channel(t.Context(), "M")
	must(t, err)
	for _, b := range []store.Bucket{from, to} {
		for _, err := range got.Blocks(t.Context(), "M", b, b.Start(), b.End()) {
			must(t, err)
			if !slices.Contains(c.Starts, b) {
				t.Errorf("the directory does not list bucket %d", b)
			}
		}
	}
	release(t, got)
	release(t, st)
	return calls
}

// A deletion of samples that ends while a backup is made is not done in the copy, which may have blocks with these samples.
func TestDeletionEndsWhileABackupIsMade(t *testing.T) {
	st := open(t, t.TempDir())
	open, done := store.Deleted{From: 1, To: 2}, store.Deleted{From: 1, To: 2, Done: true}
	before := store.Deleted{From: 5, To: 6, Done: true}
	must(t, st.AddChannel(t.Context(), store.Channel{PV: "D", Deleted: []store.Deleted{open, before, {From: 5, To: 6}}}))
	d := NewDir(t.TempDir())
	n := 0
	create(t, hooked{st, func(call string) {
		if call == "Channel" {
			if n++; n == 2 {
				must(t, st.AddChannel(t.Context(), store.Channel{PV: "D", Deleted: []store.Deleted{done}}))
			}
		}
	}}, d, "b")
	c, _, err := restored(t, d, "b").Channel(t.Context(), "D")
	must(t, err)
	if c.IsDone(open) || !c.IsDone(before) || !c.Mask().Hides(1) {
		t.Errorf("the restored deletions are %v", c.Deleted)
	}
}
