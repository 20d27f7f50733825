package main

import (
	"bytes"
	"strings"
	"testing"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

func finalize(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	root := newRoot()
	var buf bytes.Buffer
	root.SetArgs(append([]string{"store", "finalize"}, args...))
	root.SetOut(&buf)
	root.SetErr(&bytes.Buffer{})
	err = root.ExecuteContext(t.Context())
	return buf.String(), err
}

// TestFinalizeSaysWhyItCannot checks the cases in which nothing is finalized.
func TestFinalizeSaysWhyItCannot(t *testing.T) {
	dir := newArchive(t, nil)
	if out, err := finalize(t, "--data", dir); err != nil || !strings.Contains(out, "format level 6") || !strings.Contains(out, "nothing to finalize") {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := finalize(t, "--data", t.TempDir()); err == nil || !strings.Contains(err.Error(), "no archive in") {
		t.Errorf("without an archive: %v", err)
	}
	if _, err := finalize(t, "--data", dir, "--cassandra", "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "cannot be combined") {
		t.Errorf("with two stores: %v", err)
	}
	st, err := pebble.Open(dir, pebble.Options{Formats: store.Formats{Latest: store.LatestFormat + 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := finalize(t, "--data", dir); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("while the archive is in use: %v", err)
	}
	if _, err := st.Finalize(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := finalize(t, "--data", dir); err == nil || !strings.Contains(err.Error(), "format level 7") {
		t.Errorf("with the archive of a later release: %v", err)
	}
}

// TestFinalizeRefusesAnotherLevel checks that a program of another release does not raise an archive further than asked.
func TestFinalizeRefusesAnotherLevel(t *testing.T) {
	dir := newArchive(t, nil)
	if _, err := finalize(t, "--data", dir, "--level", "7"); err == nil || !strings.Contains(err.Error(), "--level: this program raises archives to format level 6, not to 7") {
		t.Errorf("with another level: %v", err)
	}
	if out, err := finalize(t, "--data", dir, "--level", "6"); err != nil || !strings.Contains(out, "nothing to finalize") {
		t.Errorf("with the level of the program: %q, %v", out, err)
	}
}
