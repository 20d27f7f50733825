package migration

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
)

// at returns a second of the files' year in ns since 1970.
func at(second int64) int64 {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano() + second*1e9
}

// stored returns the seconds of the year at which the archive has samples of A:B.
func stored(t *testing.T, st store.Store) (seconds []int64) {
	t.Helper()
	r := &query.Reader{Store: st, Shards: 4}
	read, err := r.Read(t.Context(), "A:B", query.Earliest, query.Latest, query.Options{})
	if errors.Is(err, query.ErrUnknownPV) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range read.All {
		if err != nil {
			t.Fatal(err)
		}
		for _, ns := range run.Times {
			seconds = append(seconds, (ns-at(0))/1e9)
		}
	}
	return seconds
}

func TestImportsWhatFollowsAnEmptyLine(t *testing.T) {
	other := "\x08\x02\x12\x03A:C\x18\xea\x0f\n"
	dir := write(t, map[string]string{"A/B:2026.pb": header + event(1, "") + "\n" + event(2, "") + "\n" + header + event(3, "") + "\n" + other + event(4, "")})
	st := newStore(t)
	r, err := newImporter(t, Options{Store: st}).Import(t.Context(), all(t, dir), "A:B")
	if err != nil || r.Stored != 3 || r.Damaged != 2 { // the empty line, and the sample of another PV
		t.Errorf("%+v, %v", r, err)
	}
	if got := stored(t, st); len(got) != 3 {
		t.Errorf("the archive has samples at %v", got)
	}
}

// TestScanGoesOn scans a tree with a directory that cannot be read, links to a directory above and to one
// elsewhere, a link that leads nowhere, and a directory with the name of a file.
func TestScanGoesOn(t *testing.T) {
	elsewhere := write(t, map[string]string{"B:2026.pb": header})
	dir := write(t, map[string]string{"lts/A/B:2025.pb": header, "closed/A/B:2024.pb": header, "d:2026.pb/x": ""})
	closed := filepath.Join(dir, "closed")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o750) })
	for link, to := range map[string]string{"lts/loop": dir, "mts/A": elsewhere, "lost": "nowhere"} {
		_ = os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o750)
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	tree := all(t, dir)
	files, skipped := 2, 3
	if os.Geteuid() == 0 { // nothing is closed to this user
		files, skipped = 3, 2
	}
	if len(tree.Files["A:B"]) != files || len(tree.Skipped) != skipped || tree.Count != int64(files) {
		t.Errorf("found %+v, skipped %+v", tree.Files, tree.Skipped)
	}
	if _, err := Scan(t.Context(), filepath.Join(dir, "none"), func(string) bool { return true }); err == nil {
		t.Error("a directory that does not exist was scanned")
	}
}

func TestXAndXVALAreOnePV(t *testing.T) {
	val := "\x08\x02\x12\x07A:B.VAL\x18\xea\x0f\n"
	dir := write(t, map[string]string{"s/A/B:2026.pb": header + event(1, ""), "m/A/B.VAL:2026.pb": val + event(1, "") + event(2, "")})
	tree := all(t, dir)
	if len(tree.Files) != 1 || len(tree.Files["A:B"]) != 2 {
		t.Fatalf("the tree has %v", tree.Files)
	}
	st := newStore(t)
	r, err := newImporter(t, Options{Store: st}).Import(t.Context(), tree, "A:B")
	if err != nil || r.Stored != 2 || r.Present != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestDeletedHistoryStaysDeleted imports samples from before and after the deletion cutoff.
func TestDeletedHistoryStaysDeleted(t *testing.T) {
	dir := write(t, map[string]string{"A/B:2026.pb": header + event(1, "") + event(2, "") + event(3, "")})
	tree := all(t, dir)
	st := newStore(t)
	if err := st.PutCutoff(t.Context(), store.Cutoff{Before: at(3)}); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		r, err := newImporter(t, Options{Store: st, DryRun: dry}).Import(t.Context(), tree, "A:B")
		if err != nil || r.Read != 3 || r.Stored != 1 || r.Deleted != 2 {
			t.Errorf("dry run %t: %+v, %v", dry, r, err)
		}
	}
	if got := stored(t, st); len(got) != 1 || got[0] != 3 {
		t.Errorf("the archive has samples at %v", got)
	}
	r, err := newImporter(t, Options{Store: st}).Verify(t.Context(), tree, "A:B")
	if err != nil || len(r.Differs()) > 0 || r.Deleted != 2 {
		t.Errorf("the verification finds %+v, %v", r, err)
	}
}

// TestADryRunLeavesOutDeletedSamples checks that a dry run does not promise samples that a user has deleted, and that a deleted
// range without an end, which is damaged, keeps nothing out.
func TestADryRunLeavesOutDeletedSamples(t *testing.T) {
	tree := all(t, write(t, map[string]string{"A/B:2026.pb": header + event(1, "") + event(2, "") + event(3, "")}))
	st := newStore(t)
	ranges := []store.Deleted{{From: at(1), To: at(2)}, {From: at(3), To: math.MaxInt64}}
	if err := st.AddChannel(t.Context(), store.Channel{PV: "A:B", Deleted: ranges}); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		r, err := newImporter(t, Options{Store: st, DryRun: dry}).Import(t.Context(), tree, "A:B")
		if err != nil || r.Stored != 1 || r.Expired != 2 {
			t.Errorf("dry run %t: %+v, %v", dry, r, err)
		}
	}
}

// TestADryRunPredictsRefusal checks a PV with rollups, with a sample to be stored and without one.
func TestADryRunPredictsRefusal(t *testing.T) {
	dir := write(t, map[string]string{"A/B:2026.pb": header + event(1, "")})
	tree := all(t, dir)
	st := newStore(t)
	if _, err := newImporter(t, Options{DryRun: true}).Import(t.Context(), tree, "A:B"); err != nil {
		t.Errorf("without an archive: %v", err)
	}
	if err := st.AddChannel(t.Context(), store.Channel{PV: "A:B", Levels: []store.Level{store.LevelOf(1e10, store.Forever)}}); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		if _, err := newImporter(t, Options{Store: st, DryRun: dry}).Import(t.Context(), tree, "A:B"); !errors.Is(err, seal.ErrRollups) {
			t.Errorf("dry run %t: %v", dry, err)
		}
	}
	if r, err := newImporter(t, Options{Store: st, DryRun: true, Since: at(2)}).Import(t.Context(), tree, "A:B"); err != nil {
		t.Errorf("with nothing to store: %+v, %v", r, err)
	}
}

func TestImportsBetweenTimes(t *testing.T) {
	lost := event(5, field("cnxlostepsecs", "1767225604"))
	dir := write(t, map[string]string{"A/B:2026.pb": header + event(1, "") + event(2, "") + event(3, "") + lost, "A/B:2025.pb": header})
	st := newStore(t)
	r, err := newImporter(t, Options{Store: st, Since: at(2), Until: at(3)}).Import(t.Context(), all(t, dir), "A:B")
	if err != nil || r.Read != 4 || r.Stored != 1 || r.Outside != 3 || r.Damaged != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	for m, err := range st.Marks(t.Context(), "A:B", query.Earliest, query.Latest) {
		t.Errorf("there is a mark at %d outside of the times (%v)", m.Time, err)
	}
	if got := stored(t, st); len(got) != 1 || got[0] != 2 {
		t.Errorf("the archive has samples at %v", got)
	}
}

// TestVerifyFindsWhatIsMissing verifies an archive that lacks a sample of one month.
func TestVerifyFindsWhatIsMissing(t *testing.T) {
	dir := write(t, map[string]string{"A/B:2026.pb": header + event(1, "") + event(2, "") + event(3, "")})
	tree := all(t, dir)
	st := newStore(t)
	if _, err := newImporter(t, Options{Store: st, Until: at(3)}).Import(t.Context(), tree, "A:B"); err != nil {
		t.Fatal(err)
	}
	m := newImporter(t, Options{Store: st})
	r, err := m.Verify(t.Context(), tree, "A:B")
	if d := r.Differs(); err != nil || len(d) != 1 || d[0].Month != "2026-01" || d[0].Source.Count != 3 || d[0].Archive.Count != 2 {
		t.Errorf("the verification finds %+v, %v", d, err)
	}
	if _, err := m.Import(t.Context(), tree, "A:B"); err != nil {
		t.Fatal(err)
	}
	if r, err = m.Verify(t.Context(), tree, "A:B"); err != nil || len(r.Differs()) > 0 || len(r.Months) != 1 || r.Months[0].Archive.Hash == 0 {
		t.Errorf("after another import, it finds %+v, %v", r, err)
	}
}

// TestPace checks that samples of all goroutines share a rate.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := pace{rate: 100}, time.Now()
		for range 4 {
			if err := p.wait(t.Context(), 50); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("200 samples at 100 per second took %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.wait(ctx, 1e6); err == nil {
			t.Error("the wait did not end with its context")
		}
	})
}
