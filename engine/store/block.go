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
	// N is a number that the writer counts for each PV.
	N uint32
}

// Block is a run of samples of one PV and one type, sorted by time, without
// duplicates. While a block grows, it is written again under its key.
type Block struct {
	BlockKey
	// End is the time of the last sample.
	End int64
	// Count is the number of samples. A carried-forward sample is neither counted nor
	// part of Min, Max and Sum.
	Count int
	Type  sample.Type
	// Min, Max and Sum are over the values that are numbers. They are NaN if there is
	// no such value.
	Min, Max, Sum float64
	// Blob is encoded by package block.
	Blob []byte
}

// Blocks is the part of a Store that holds sealed samples.
type Blocks interface {
	// PutBlocks writes blocks, several at a time.
	PutBlocks(ctx context.Context, blocks ...Block) error
	// Blocks yields the blocks of a PV in a bucket that overlap [from, to],
	// by start, then writer, then n.
	Blocks(ctx context.Context, pv string, b Bucket, from, to int64) iter.Seq2[Block, error]
	// LastBlock returns the block in a bucket that holds the latest sample at or
	// before a time, as far as Start and End tell: of the blocks that start at or
	// before the time, the one with the greatest End.
	LastBlock(ctx context.Context, pv string, b Bucket, at int64) (blk Block, found bool, err error)
	// DropBucket deletes the blocks of a PV in a bucket that were written at or before a
	// time, in ns since 1970, by the clocks of their writers. A block that was written
	// again since then stays whole. DropBucket returns about how many bytes the deleted
	// blocks took in all copies that the store has.
	DropBucket(ctx context.Context, pv string, b Bucket, before int64) (bytes int64, err error)
}
