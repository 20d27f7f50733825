package store

import "context"

// Cutoff is the deletion cutoff of the disk guard: the time before which raw samples are
// deleted to make room. Buckets that end at or before it are deleted, or will be deleted soon,
// except the latest bucket of each PV. An archive has one cutoff. Before only rises. The other
// fields are those of the latest write.
type Cutoff struct {
	// Before is the cutoff. At is the time when it was last raised. Both are in ns since 1970.
	Before, At int64
	// By is the engine that raised the cutoff.
	By WriterID
	// Size is the size of the archive in bytes when the cutoff was raised. Limit is the size
	// that was allowed then.
	Size, Limit int64

	// Open is true if more samples must be deleted.
	Open bool
	// Settled is the part of the deleted bytes of all shards that has become free on the
	// disks. Peak is the greatest size of the archive since Settled last changed.
	Settled, Peak int64
}

// CutoffProgress is the progress of a shard in deleting blocks before the Cutoff.
type CutoffProgress struct {
	Shard int
	// Cutoff is the time up to which the blocks of the shard's PVs are deleted.
	Cutoff int64
	// Buckets and Bytes count the deleted buckets and bytes since the archive was created.
	Buckets, Bytes int64
}

// Guard is the part of a Store that the disk guard needs: the size of the archive and the
// deletion cutoff.
type Guard interface {
	// PutCutoff writes the cutoff. A lower Before does not replace the stored one, even if it
	// arrives later.
	PutCutoff(ctx context.Context, c Cutoff) error
	// Cutoff returns the cutoff. found is false if the disk guard never deleted samples.
	Cutoff(ctx context.Context) (c Cutoff, found bool, err error)
	// PutCutoffProgress writes the progress of a shard.
	PutCutoffProgress(ctx context.Context, progress CutoffProgress) error
	// CutoffProgress returns the progress of all shards that have any, by shard.
	CutoffProgress(ctx context.Context) ([]CutoffProgress, error)

	// Limit returns the size in bytes that the settings of the servers allow for the archive.
	// It returns 0 if the servers set no limit or do not report one.
	Limit(ctx context.Context) (int64, error)
	// Size returns the size of the archive on disk in bytes. It returns 0 if the store does
	// not know the size.
	Size(ctx context.Context) (int64, error)
}
