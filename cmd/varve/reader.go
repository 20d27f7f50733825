package main

import (
	"log/slog"

	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/nameindex"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/store"
)

// newReader returns a reader of an archive. recent has the samples that are not in the store yet, and captured has the PVs
// that are captured. The reader compares times with the clocks of the store, which order all
// writes: by the clock of this machine, which may be wrong, it would take stored samples for expired, and would
// not notice that a writer is behind. The caller runs the index of the reader.
func newReader(st store.Store, recent query.Recent, shards int, captured nameindex.Captured, c *clock.Clock, log *slog.Logger) *query.Reader {
	return &query.Reader{
		Store: st, Recent: recent, Shards: shards, Now: c.StoreTime,
		Index: nameindex.New(nameindex.Config{Store: st, Captured: captured, Log: log}),
	}
}
