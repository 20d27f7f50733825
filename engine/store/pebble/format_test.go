package pebble_test

import (
	"errors"
	"strings"
	"testing"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
)

// Releases by the format levels that they know. Each is the next one of the former.
var (
	oldRelease  = pebble.Options{Formats: store.Formats{Oldest: 5, Latest: 5}}
	nextRelease = pebble.Options{Formats: store.Formats{Oldest: 5, Latest: 6}}
	lastRelease = pebble.Options{Formats: store.Formats{Oldest: 6, Latest: 7}}
)

// TestAnUpgradeCanBeTakenBackUntilItIsFinalized goes to the next release and back, then finalizes.
func TestAnUpgradeCanBeTakenBackUntilItIsFinalized(t *testing.T) {
	dir := t.TempDir()
	at := func(release pebble.Options, want store.FormatLevel) *pebble.Store {
		t.Helper()
		st := open(t, dir, release)
		if got, err := st.FormatLevel(t.Context()); got != want || err != nil {
			t.Errorf("the archive has format level %d, %v; want %d", got, err, want)
		}
		return st
	}
	refuses := func(release pebble.Options, words ...string) {
		t.Helper()
		st, err := pebble.Open(dir, release)
		if err == nil {
			_ = st.Close()
		}
		if !errors.Is(err, store.ErrFormat) {
			t.Fatalf("the error is %v", err)
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("the error %q does not contain %q", err, w)
			}
		}
	}
	closed := func(st *pebble.Store) {
		t.Helper()
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}

	closed(at(oldRelease, 5))
	closed(at(nextRelease, 5))
	closed(at(oldRelease, 5))
	refuses(lastRelease, "format level 5", "levels 6 to 7", "first run a release between")
	st := at(nextRelease, 5)
	for range 2 {
		if got, err := st.Finalize(t.Context()); got != 6 || err != nil {
			t.Errorf("Finalize returns %d, %v", got, err)
		}
	}
	closed(st)
	refuses(oldRelease, "format level 6", "knows level 5", "the release that finalized the archive")
	closed(at(nextRelease, 6))
	closed(at(lastRelease, 6))
}
