// Package store declares the rows of an archive and the queries that every back
// end serves. store/pebble and store/cassandra implement Store; store/storetest
// is the suite that both pass.
//
//	journal (shard, writer, n, seq) ── durable ≤ 1 s after arrival
//	   │ claims say who wrote, and up to where it is sealed
//	   ▼ sealer
//	block (pv, bucket, start, writer, n)      mark (pv, time, kind, reason, writer)
//	   │ rolled up                            metadata (pv, time)
//	   ▼
//	rollup (pv, level, tile)
//	channel (pv): the directory, made of sets that only grow
//	cutoff: the disk guard deletes raw samples before it      progress (shard)
//
// A bucket of blocks and a level of rollups belong to a retention tier, which says
// how long they are kept. All rows of a bucket expire together, and so do those of a
// tile. Expired blocks and rollups may still be seen until Expire is called, or until
// the store deletes them by itself.
//
// Every write is an idempotent upsert: repeating a write changes nothing, in any order
// and from any number of writers. A write returns when it is durable. After an error
// its outcome is unknown, and the caller repeats it.
package store

import (
	"context"
	"errors"
)

// MaxBlob is the largest Blob, in bytes, that a row may hold: room for one value of
// 16 MiB and for what a structure or a journal row adds to it.
const MaxBlob = 20 << 20

// ErrTooLarge is returned for a row whose blob is larger than MaxBlob.
var ErrTooLarge = errors.New("blob larger than a row may be")

// ErrNoTier is returned for a row on a tier that the store does not have.
var ErrNoTier = errors.New("the store keeps nothing on this tier")

// Store keeps the rows of one archive. All methods are safe for concurrent use.
// Sequences yield rows whose memory the caller may keep, and hold at most one large
// blob at a time. A sequence ends after its first error. A reader sees a row whole or
// not at all, however large the row is, even while the row is being written, rewritten
// or deleted, and after such an operation was interrupted.
type Store interface {
	Journal
	Blocks
	Rollups
	Directory
	Marks
	Guard

	// Expire deletes the blocks and rollups of all PVs that their tiers no longer keep
	// at a time in ns since 1970. It does nothing in a store whose rows expire by
	// themselves.
	Expire(ctx context.Context, now int64) error
	// Tiers returns the tiers that blocks and rollups can be written to.
	Tiers(ctx context.Context) ([]Tier, error)

	// Delete deletes everything that is stored of a PV except its journal rows. The
	// directory entry, which names the other rows, is deleted last, so Delete can be
	// repeated after an error or a crash. Rows that are written while it runs may stay
	// or be deleted.
	Delete(ctx context.Context, pv string) error

	// Close releases the store. No call may follow.
	Close() error
}
