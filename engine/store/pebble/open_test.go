package pebble_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cockroach "github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

func open(tb testing.TB, dir string, opts pebble.Options) *pebble.Store {
	tb.Helper()
	st, err := pebble.Open(dir, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return st
}

// refused checks that Open fails with an error that contains the words.
func refused(t *testing.T, dir string, words ...string) error {
	t.Helper()
	st, err := pebble.Open(dir, pebble.Options{})
	if err == nil {
		_ = st.Close()
		t.Fatal("no error")
	}
	for _, w := range append(words, dir) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error %q does not contain %q", err, w)
		}
	}
	return err
}

func TestOpenTwice(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, pebble.Options{})
	if err := refused(t, dir, "in use"); !errors.Is(err, pebble.ErrInUse) {
		t.Errorf("the error is %v", err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir, pebble.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesWhatIsNotAnArchive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, file, "not a directory")
	refused(t, set(t, "x", "y"), "not an archive")
	refused(t, set(t, "s", "\x00\x00\x00\x07"), "level 7", "levels 5 to 6")
	refused(t, set(t, "s", "?"), "damaged")
}

// TestEarlierVersionsAreUpgraded checks that Open upgrades an archive of an earlier version.
func TestEarlierVersionsAreUpgraded(t *testing.T) {
	for _, version := range []string{"\x00\x00\x00\x01", "\x00\x00\x00\x02", "\x00\x00\x00\x03", "\x00\x00\x00\x04"} {
		dir := set(t, "s", version)
		l := store.LevelOf(time.Second, store.Keep1d)
		st := open(t, dir, pebble.Options{})
		err := st.PutRollups(t.Context(), store.Rollup{PV: "A", Level: l, Tile: 1, Stamp: 1, Blob: []byte("bins")})
		if err := errors.Join(err, st.Close()); err != nil {
			t.Fatal(err)
		}
		if got := get(t, dir, "s"); got != "\x00\x00\x00\x05" {
			t.Errorf("version %q is upgraded to %q", version, got)
		}
	}
}

// get returns the value of a key in a directory.
func get(t *testing.T, dir, key string) string {
	t.Helper()
	db, err := cockroach.Open(dir, &cockroach.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	v, closer, err := db.Get([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	return string(v)
}

// set returns a directory with a Pebble store that has one entry.
func set(t *testing.T, key, value string) string {
	t.Helper()
	dir := t.TempDir()
	db, err := cockroach.Open(dir, &cockroach.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Set([]byte(key), []byte(value), cockroach.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	st := open(t, t.TempDir(), pebble.Options{Registerer: reg})
	if err := st.PutClaim(t.Context(), store.Claim{Shard: 1}); err != nil {
		t.Fatal(err)
	}
	if m, err := reg.Gather(); err != nil || len(m) == 0 {
		t.Errorf("%d metrics are registered, %v", len(m), err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if m, err := reg.Gather(); err != nil || len(m) != 0 {
		t.Errorf("%d metrics are registered after Close, %v", len(m), err)
	}
}
