package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/varve/engine/block"
	"varve.dev/varve/engine/check"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// storeCheck runs `varve store check` and returns its exit code and its output.
func storeCheck(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	root := newRoot()
	var buf bytes.Buffer
	root.SetArgs(append([]string{"store", "check"}, args...))
	root.SetOut(&buf)
	root.SetErr(&bytes.Buffer{})
	if err := root.ExecuteContext(t.Context()); err != nil {
		return exitCode(err), buf.String() + err.Error()
	}
	return 0, buf.String()
}

// newArchive creates an archive with one PV that has one block, and one PV without an entry in
// the directory. It returns the path of the archive.
func newArchive(t *testing.T, change func(st *pebble.Store, b store.Block)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "archive")
	st, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &sample.Run{Type: sample.Int32}
	r.Append(&sample.Sample{Time: 7, Word: 5})
	b := store.Block{
		BlockKey: store.BlockKey{PV: "A/B", Bucket: store.Day.Of(7), Start: 7}, End: 7, Count: 1, Type: r.Type,
		Min: 5, Max: 5, Sum: 5, Blob: block.Append(nil, r),
	}
	if err := st.AddChannel(t.Context(), store.Channel{PV: b.PV, Starts: []store.Bucket{b.Bucket}, Types: []sample.Type{r.Type}}); err != nil {
		t.Fatal(err)
	}
	if err := st.PutBlocks(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(st, b)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestStoreCheckOfAValidArchive(t *testing.T) {
	dir := newArchive(t, nil)
	if code, out := storeCheck(t, "--data", dir); code != 0 || !strings.Contains(out, "1 PVs, 1 blocks with 1 samples") {
		t.Errorf("exit code %d: %s", code, out)
	}
	var report check.Report
	code, out := storeCheck(t, "--data", dir, "--json", "--pv", "A*")
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 || !report.Complete || report.Samples != 1 {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
	if code, out := storeCheck(t, "--data", dir, "--pv", "B*"); code != 0 || !strings.Contains(out, "0 PVs") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestStoreCheckRepairsAnArchive(t *testing.T) {
	dir := newArchive(t, func(st *pebble.Store, b store.Block) {
		stray, bad := b, b
		stray.PV = "STRAY"
		bad.Start, bad.Blob = 8, []byte("bad")
		if err := st.PutBlocks(t.Context(), stray, bad); err != nil {
			t.Fatal(err)
		}
	})
	code, out := storeCheck(t, "--data", dir)
	if code != 1 || !strings.Contains(out, "error: A/B: day bucket") || !strings.Contains(out, "damaged_block") || !strings.Contains(out, "error: STRAY: directory: unlisted") {
		t.Errorf("exit code %d: %s", code, out)
	}
	aside := filepath.Join(t.TempDir(), "aside")
	if code, out = storeCheck(t, "--data", dir, "--repair", "--drop-damaged", aside); code != 0 || strings.Count(out, "(repaired)") != 2 {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, out = storeCheck(t, "--data", dir); code != 0 || !strings.Contains(out, "2 PVs, 2 blocks") {
		t.Errorf("after the repair: exit code %d: %s", code, out)
	}
	files, err := os.ReadDir(aside)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	if blob, err := os.ReadFile(filepath.Join(aside, files[0].Name())); err != nil || string(blob) != "bad" {
		t.Errorf("set aside: %q, %v", blob, err)
	}
}

func TestStoreCheckThatCannotRun(t *testing.T) {
	dir := newArchive(t, nil)
	empty := t.TempDir()
	if code, out := storeCheck(t, "--data", empty); code != 2 || !strings.Contains(out, "no archive in "+empty) {
		t.Errorf("empty directory: exit code %d: %s", code, out)
	}
	if files, err := os.ReadDir(empty); err != nil || len(files) != 0 {
		t.Errorf("the check left %d files, %v", len(files), err)
	}
	st, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if code, out := storeCheck(t, "--data", dir); code != 2 || !strings.Contains(out, "in use") {
		t.Errorf("archive in use: exit code %d: %s", code, out)
	}
	for flags, want := range map[string]string{
		"--shards=0": "--shards", "--nothing": "--nothing", "--cassandra=127.0.0.1:1": "127.0.0.1:1", "--rate=x": "--rate",
	} {
		if code, out := storeCheck(t, flags); code != 2 || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d: %s", flags, code, out)
		}
	}
}
