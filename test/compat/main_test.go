package compat

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/varve/test/cassandra"
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
