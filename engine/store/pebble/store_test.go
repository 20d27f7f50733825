package pebble_test

import (
	"testing"

	"go.uber.org/goleak"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/engine/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	var open *pebble.Store
	reopen := func(t *testing.T, _ store.Store) store.Store {
		if open != nil {
			if err := open.Close(); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if open, err = pebble.Open(dir, pebble.Options{}); err != nil {
			t.Fatal(err)
		}
		return open
	}
	defer func() { _ = open.Close() }()
	storetest.Run(t, func(t *testing.T) store.Store { return reopen(t, nil) }, reopen)
}

// TestLong_Conformance repeats tests of TestConformance with larger blobs and more rows.
func TestLong_Conformance(t *testing.T) {
	storetest.RunLong(t, func(t *testing.T) store.Store {
		st, err := pebble.Open(t.TempDir(), pebble.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st
	})
}
