package store_test

import (
	"context"
	"runtime"
	"testing"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/engine/store/storetest"
)

// TestConformance checks that an open Pending store behaves like the store that it opened.
func TestConformance(t *testing.T) { storetest.Run(t, openPending, nil) }

// TestLong_Conformance repeats tests of TestConformance with larger blobs and more rows.
func TestLong_Conformance(t *testing.T) { storetest.RunLong(t, openPending) }

// openPending returns a Pending store that has opened a store of its own.
func openPending(t *testing.T) store.Store {
	t.Helper()
	opened, dir := make(chan struct{}), t.TempDir() // made first, so that it is removed after Close
	p := store.OpenLater(func(context.Context) (store.Store, error) {
		defer close(opened)
		return pebble.Open(dir, pebble.Options{})
	}, error.Error)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	<-opened
	for p.State() != "" { // it opens in a moment
		runtime.Gosched()
	}
	return p
}
