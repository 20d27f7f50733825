// Package store declares the rows of an archive and the queries of the interface Store. The
// packages store/pebble and store/cassandra implement Store, and both pass the test suite
// store/storetest.
//
//	journal (shard, writer, n, seq) ── durable ≤ 1 s after arrival
//	   │ claims name the writers and their sealed positions
//	   ▼ sealer
//	block (pv, bucket, start, writer, n)      mark (pv, time, kind, reason, writer)
//	   │ rolled up                            metadata (pv, time)
//	   ▼
//	rollup (pv, level, tile)
//	channel (pv): the directory, made of sets that only grow
//	cutoff: the disk guard deletes raw samples before it      progress (shard)
//
// Each bucket of blocks and each level of rollups belongs to a retention tier, which defines
// how long they are kept. All rows of a bucket expire together, and so do all rows of a tile.
// Readers may see expired blocks and rollups until Expire is called, or until the store
// deletes them by itself.
//
// Every write is an idempotent upsert. A repeated write changes nothing, regardless of the
// order and the number of writers. A write returns when it is durable. If a write returns an
// error, its outcome is unknown, and the caller repeats it.
package store

import (
	"context"
	"errors"
)

// MaxBlob is the maximum size of a Blob in bytes. It has room for one value of 16 MiB and for
// the encoding of a structure or a journal row around it.
const MaxBlob = 20 << 20

// ErrTooLarge is returned for a row whose blob is larger than MaxBlob.
var ErrTooLarge = errors.New("the blob is larger than the maximum of 20 MiB")

// ErrDiskFull is wrapped by errors of writes while the disk of the archive has too little free space.
var ErrDiskFull = errors.New("the disk of the archive is nearly full")

// ErrNoTier is returned for a row on a tier that the store does not have.
var ErrNoTier = errors.New("the store does not have this tier")

// Store keeps the rows of one archive. All methods are safe for concurrent use. The caller may
// keep the rows that a sequence yields. A sequence holds at most one large blob in memory at a
// time. It ends after its first error. A reader sees either a whole row or no row, regardless
// of the size of the row. This holds while the row is written, rewritten or deleted, and after
// such an operation was interrupted.
type Store interface {
	Journal
	Blocks
	Rollups
	Directory
	Marks
	Guard
	Format

	// Expire deletes the blocks and rollups of all PVs that have expired at the time now, in
	// ns since 1970. It does nothing in a store that deletes expired rows by itself.
	Expire(ctx context.Context, now int64) error
	// Tiers returns the tiers to which blocks and rollups can be written.
	Tiers(ctx context.Context) ([]Tier, error)

	// Delete deletes all rows of a PV except its journal rows. It deletes the directory entry
	// last, because the entry lists the other rows. Delete can therefore be repeated after an
	// error or a crash. Rows that are written while Delete runs may stay or be deleted.
	Delete(ctx context.Context, pv string) error

	// Close releases the store. The store must not be used afterwards.
	Close() error
}
