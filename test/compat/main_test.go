package compat

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/checkout"
	"varve.dev/varve/test/compat/golden"
)

func TestMain(m *testing.M) { cassandra.Main(m) }

// releases returns what the golden archives of all releases hold.
func releases(t *testing.T) (out []golden.Archive) {
	t.Helper()
	files, err := filepath.Glob("testdata/*/expected.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no golden archives: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var a golden.Archive
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if len(a.PVs) < 30 {
			t.Fatalf("%s has %d PVs", f, len(a.PVs))
		}
		out = append(out, a)
	}
	return out
}

// unzipped opens a compressed file of a golden archive.
func unzipped(t *testing.T, a *golden.Archive, name string) io.Reader {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", a.Release, name))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// directory returns a copy of the golden archive in a directory.
func directory(t *testing.T, a *golden.Archive) string {
	t.Helper()
	dir := t.TempDir()
	from := tar.NewReader(unzipped(t, a, "pebble.tar.gz"))
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// program builds the program of a release from the history of the repository. Without the history, the
// test is skipped, except in CI.
func program(t *testing.T, a *golden.Archive) string {
	t.Helper()
	git := func(args ...string) error {
		out, err := exec.Command("git", slices.Concat([]string{"-C", checkout.Root()}, args)...).CombinedOutput()
		if err != nil {
			err = errors.Join(err, errors.New(string(out)))
		}
		return err
	}
	if err := git("cat-file", "-e", a.Commit); err != nil {
		const advice = "the program of release %s is not tested, because the repository lacks commit %s: run git fetch --unshallow"
		if os.Getenv("CI") != "" {
			t.Fatalf(advice, a.Release, a.Commit)
		}
		t.Skipf(advice, a.Release, a.Commit)
	}
	dir := t.TempDir()
	source, file := filepath.Join(dir, "source.tar"), filepath.Join(dir, "varve")
	if err := git("archive", "--output", source, a.Commit); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-xf", source, "-C", tree).CombinedOutput(); err != nil {
		t.Fatalf("unpacking the sources: %v\n%s", err, out)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", file, "./cmd/varve")
	build.Dir, build.Env = tree, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building release %s: %v\n%s", a.Release, err, out)
	}
	return file
}
