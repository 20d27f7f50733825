package store

import (
	"context"
	"iter"

	"varve.dev/varve/engine/sample"
)

// BlockKey identifies a block.
type BlockKey struct {
	PV     string
	Bucket Bucket
	// Start is the time of the block's first sample when the block was created. It
	// never changes.
	Start  int64
	Writer WriterID
	// N distinguishes the blocks of one writer: the writer increments it with each block of
	// the PV.
	N uint32
}

// Block is a run of samples of one PV and one type, sorted by time, without duplicates. A
// writer writes a growing block again under the same key.
type Block struct {
	BlockKey
	// End is the time of the last sample.
	End int64
	// Count is the number of samples. Count, Min, Max and Sum leave out a carried-forward
	// sample.
	Count int
	Type  sample.Type
	// Min, Max and Sum are computed from the values that are numbers. They are NaN if no value
	// is a number.
	Min, Max, Sum float64
	// Blob holds the samples as package block encodes them.
	Blob []byte
	// Damage says why the store has the block but cannot return its blob, for example because
	// parts of it are missing. It is nil for a whole block. PutBlocks refuses a damaged one.
	Damage error
}

// Blocks is the part of a Store that holds sealed samples.
type Blocks interface {
	// PutBlocks writes blocks. It writes several of them concurrently.
	PutBlocks(ctx context.Context, blocks ...Block) error
	// Blocks yields the blocks of a PV in a bucket that overlap [from, to], sorted by start,
	// then writer, then n.
	Blocks(ctx context.Context, pv string, b Bucket, from, to int64) iter.Seq2[Block, error]
	// LastBlock returns the block in a bucket that holds the latest sample at or before a
	// time. It compares only Start and End: of the blocks that start at or before the time, it
	// returns the block with the greatest End.
	LastBlock(ctx context.Context, pv string, b Bucket, at int64) (blk Block, found bool, err error)
	// DropBucket deletes the blocks of a PV in a bucket that were written at or before a time,
	// in ns since 1970, by the clocks of the store (clock.Store), if it has any. A block that was written again since
	// then stays whole. DropBucket returns the approximate number of bytes that the deleted
	// blocks occupied in all replicas.
	DropBucket(ctx context.Context, pv string, b Bucket, before int64) (bytes int64, err error)
}
