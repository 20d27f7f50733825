package store

import "context"

// Cutoff is the deletion cutoff of the disk guard: the time before which raw samples are
// deleted to make room. Buckets of blocks that end at or before it are deleted, or about to
// be, except the latest bucket of each PV. An archive has one cutoff. Its Before only rises;
// the other fields are those of the latest write.
type Cutoff struct {
	// Before is the cutoff, and At is when it was last raised: both in ns since 1970.
	Before, At int64
	// By is the engine that raised the cutoff.
	By WriterID
	// Size is how many bytes the archive took when the cutoff was raised, and Limit how
	// many it was allowed.
	Size, Limit int64

	// Open says that more samples must be deleted.
	Open bool
	// Settled is how many of the bytes that were given up, by the sum of the progress of
	// all shards, have become free on the disks. Peak is the greatest size since then.
	Settled, Peak int64
}

// CutoffProgress says how far a shard has followed the Cutoff.
type CutoffProgress struct {
	Shard int
	// Cutoff is the time up to which the blocks of the shard's PVs are deleted.
	Cutoff int64
	// Buckets and Bytes count what was deleted since the archive began.
	Buckets, Bytes int64
}

// Guard is the part of a Store that the disk guard needs: the size of the archive and the
// deletion cutoff.
type Guard interface {
	// PutCutoff writes the cutoff. A Before that is lower than the stored one does not
	// change it, even if it arrives later.
	PutCutoff(ctx context.Context, c Cutoff) error
	// Cutoff returns the cutoff. found is false if nothing was ever given up.
	Cutoff(ctx context.Context) (c Cutoff, found bool, err error)
	// PutCutoffProgress writes how far a shard has followed the cutoff.
	PutCutoffProgress(ctx context.Context, progress CutoffProgress) error
	// CutoffProgress returns the progress of all shards that have any, by shard.
	CutoffProgress(ctx context.Context) ([]CutoffProgress, error)

	// Limit returns the bytes that the archive may take according to the settings of the
	// servers. It is 0 if the servers set no limit or do not say.
	Limit(ctx context.Context) (int64, error)
	// Size returns the bytes that the archive takes on disk, as far as the store can
	// tell, and 0 if it cannot tell.
	Size(ctx context.Context) (int64, error)
}
