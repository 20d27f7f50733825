package store_test

import (
	"context"
	"runtime"
	"testing"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/pebble"
	"varve.dev/varve/engine/store/storetest"
)

// An open Pending store behaves like the store that it opened.
func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
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
	}, nil)
}
