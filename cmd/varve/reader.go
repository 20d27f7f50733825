package main

import (
	"iter"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/store"
)

// newReader returns a reader of an archive. recent has the samples that are not in the store yet, and captured
// yields the PVs that are captured. The reader compares times with the clocks of the store, which order all
// writes: by the clock of this machine, which may be wrong, it would take stored samples for expired, and would
// not notice that a writer is behind.
func newReader(st store.Store, recent query.Recent, shards int, captured func() iter.Seq[string], c *clock.Clock) *query.Reader {
	return &query.Reader{Store: st, Recent: recent, Shards: shards, Captured: captured, Now: c.StoreTime}
}
