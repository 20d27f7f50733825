package manifest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watching collects the results of a Watch.
type watching struct {
	t       *testing.T
	results chan Result
	last    Result
}

func watch(t *testing.T, path string) *watching {
	t.Helper()
	w := &watching{t: t, results: make(chan Result, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Watch(ctx, path, func(r Result) { w.results <- r })
	}()
	t.Cleanup(func() { cancel(); <-done })
	w.last = <-w.results
	return w
}

// until waits for a result with the given groups and number of errors.
func (w *watching) until(errs int, groups ...string) {
	w.t.Helper()
	deadline := time.After(2 * time.Minute)
	for !slices.Equal(summary(w.last), groups) || len(w.last.Errors) != errs {
		select {
		case w.last = <-w.results:
		case <-deadline:
			w.t.Fatalf("groups are %q with errors %v, want %q with %d errors", summary(w.last), w.last.Errors, groups, errs)
		}
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestWatchDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.yaml", manifestOf("a", "A:1"))
	w := watch(t, dir)
	w.until(0, "default/a A:1")

	write(t, dir, "a.yaml", manifestOf("a", "A:2"))
	w.until(0, "default/a A:2")

	write(t, dir, "b.yaml", manifestOf("b", "B:1"))
	w.until(0, "default/a A:2", "default/b B:1")

	// Editors save a file by renaming a temporary file to its name.
	write(t, dir, ".a.yaml.tmp", manifestOf("a", "A:3"))
	rename(t, filepath.Join(dir, ".a.yaml.tmp"), filepath.Join(dir, "a.yaml"))
	w.until(0, "default/a A:3", "default/b B:1")

	remove(t, filepath.Join(dir, "a.yaml"))
	w.until(0, "default/b B:1")
}

// TestWatchKeepsGroupsOfInvalidFiles checks that an invalid file keeps its last valid groups;
// its valid documents still apply.
func TestWatchKeepsGroupsOfInvalidFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := write(t, dir, "a.yaml", manifestOf("a", "A:1")+"---\n"+manifestOf("b", "B:1"))
	w := watch(t, dir)
	w.until(0, "default/a A:1", "default/b B:1")

	write(t, dir, "a.yaml", manifestOf("a", "A:2")+"---\n"+manifestOf("b", "B 2"))
	w.until(1, "default/a A:2", "default/b B:1")
	if want := []string{"default/b"}; !slices.Equal(w.last.Stale, want) {
		t.Errorf("stale: %v", w.last.Stale)
	}

	write(t, dir, "a.yaml", "{")
	w.until(1, "default/a A:2", "default/b B:1")

	// A dangling link cannot be read, but it exists.
	remove(t, path)
	if err := os.Symlink("nowhere", path); err != nil {
		t.Fatal(err)
	}
	w.until(1, "default/a A:2", "default/b B:1")

	// Meanwhile another file may contain the group.
	write(t, dir, "b.yaml", manifestOf("b", "B:3"))
	w.until(1, "default/b B:3", "default/a A:2")

	remove(t, path)
	w.until(0, "default/b B:3")
}

func TestWatchKeepsGroupsOfMissingDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "groups")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "a.yaml", manifestOf("a", "A:1"))
	w := watch(t, dir)
	w.until(0, "default/a A:1")

	rename(t, dir, dir+".away")
	w.until(1, "default/a A:1")

	write(t, dir+".away", "b.yaml", manifestOf("b", "B:1"))
	rename(t, dir+".away", dir)
	w.until(0, "default/a A:1", "default/b B:1")
}

// TestWatchConfigMap watches a mounted ConfigMap: a directory of links through ..data, which
// is replaced as a whole.
func TestWatchConfigMap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	publish := func(version, content string) {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, version), "a.yaml", content)
		if err := os.Symlink(version, filepath.Join(dir, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		rename(t, filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))
	}
	publish("..1", manifestOf("a", "A:1"))
	if err := os.Symlink("..data/a.yaml", filepath.Join(dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	w := watch(t, dir)
	w.until(0, "default/a A:1")
	publish("..2", manifestOf("a", "A:2"))
	w.until(0, "default/a A:2")
}

func TestWatchFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := write(t, dir, "a.yaml", manifestOf("a", "A:1"))
	write(t, dir, "b.yaml", manifestOf("b", "B:1"))
	w := watch(t, path)
	w.until(0, "default/a A:1")

	write(t, dir, "tmp", manifestOf("a", "A:2"))
	rename(t, filepath.Join(dir, "tmp"), path)
	w.until(0, "default/a A:2")

	remove(t, path)
	w.until(0)
	write(t, dir, "a.yaml", manifestOf("a", "A:3"))
	w.until(0, "default/a A:3")
}

// TestFileIsGoneAfterTwoReads checks that a file that is missing in a single read does not
// count as gone, because an editor may be replacing it.
func TestFileIsGoneAfterTwoReads(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a.yaml", manifestOf("a", "A:1"))
	r := newReader(dir)
	r.read()
	remove(t, path)
	if result, again := r.read(); len(result.Groups) != 1 || !again {
		t.Error("the groups of a missing file were removed after the first read, want after the second")
	}
	write(t, dir, "a.yaml", manifestOf("a", "A:1"))
	if _, again := r.read(); again {
		t.Error("the file is back, but was still counted as missing")
	}
	remove(t, path)
	r.read()
	if result, again := r.read(); len(result.Groups) != 0 || again {
		t.Error("the groups of a missing file were not removed after the second read")
	}
}
