package store

// Cutoff is the time before which raw samples were given up for want of room: of all PVs,
// the buckets of blocks that end at or before it are gone, or are about to go, but for
// the latest one of each PV. An archive has one. Its Before only rises; the other fields
// are of the latest write.
type Cutoff struct {
	// Before is in ns since 1970, as At is: when it was raised last.
	Before, At int64
	// By is the engine that raised it; Size and Limit are why: what the archive took
	// then, and may take, in bytes.
	By          WriterID
	Size, Limit int64

	// Open says that more is to be given up. Settled is how many of the bytes that were
	// given up, by the sum of all CutoffProgress, have shown as room on the disks, and Peak the
	// greatest size since then.
	Open          bool
	Settled, Peak int64
}

// CutoffProgress says how far a shard has followed the Cutoff.
type CutoffProgress struct {
	Shard int
	// Cutoff is that up to which the PVs of the shard have given up their blocks.
	Cutoff int64
	// Buckets and Bytes were given up since the archive began.
	Buckets, Bytes int64
}
