// Package query reads the samples of a PV. It reads every place that may have them, merges
// them by time and removes duplicates:
//
//	1 memory  ── Recent ────────────────────────────────┐
//	2 journal ── claims, rows after sealed ─────────────┼─▶ merge ─▶ window ─▶ runs, in order of time
//	3 blocks  ── bucket by bucket, a little way ahead ──┘
//
// # A read misses no sample
//
// While a reader reads, sealers move samples from memory and journal to blocks. The order
// of reading ensures that the reader finds every sample that was durable, or in memory,
// when the read began:
//
//   - A sample moves one way only. After the block with the sample is acknowledged, the
//     writer raises the sealed position of its claim and drops the sample from memory. A
//     block never loses a sample.
//   - If memory covers the writer, the sample is either in memory, or it left memory
//     before the reader read that. In the second case it is in a block, which the reader
//     reads later.
//   - If memory does not cover the writer: the writer inserted its claim before its first
//     row. The sample is in a row after the sealed position, or it was in a block before
//     the reader read that position. A row that is deleted in the meantime was sealed
//     before.
//   - Rows of a PV are in its home shard, which its name determines, in the shard that
//     captures it now, or in a shard that the directory lists. The directory lists the
//     shard and the bucket of a block before the block is written. The reader therefore
//     reads the directory twice: for the shards, before the claims, and for the buckets,
//     after the journal. It reads the claims of the home shard at the same time as the
//     directory, because it needs no directory for them.
//
// Several engines may hold samples in memory, and the reader requests them over the
// network. Each engine answers for its own writers, so the argument holds for each one
// separately. An answer is older than everything that is read after it, but must not be
// older than the start of the read. The writers of an engine that does not answer are not
// covered, and the reader reads their rows. After an engine has released a shard, its
// answers no longer cover it, and its claim remains until its rows are sealed.
//
// A sample that is read in two places is yielded once.
//
// # Tiers
//
// Blocks of a PV are in buckets of several sizes, on several retention tiers. A read
// unites all of them, except for buckets that are expired by the reader's clock: it skips
// these even if the store has not deleted them yet. A read that begins after a bucket has
// expired therefore never yields a part of it.
//
//   - The last sample before a range may be on any tier. A bucket with samples bounds its
//     time from below for all tiers, because the bucket has that sample, or a later one,
//     or a copy of it. If that bucket expires during the read, at most its own sample is
//     lost, as for a read that begins a moment later.
//   - Samples before the oldest bucket of a tier are deleted. If no sample has arrived
//     since, the carried-forward sample of a later bucket is the only copy. A read yields
//     it as a normal sample with its own time.
//   - A sealer that moves blocks to another tier first writes the directory, then copies
//     the blocks, and deletes the old ones an hour after the copies were acknowledged. A
//     reader that knows the new tier reads the bucket on the new tier and then on the old
//     one. If the copy was not there yet, the old blocks exist for another hour. If the
//     old bucket is empty, the copy is at least an hour old, and the reader found it. A
//     reader that does not know the new tier read the directory before the first copy.
//     During the hour, blocks are read twice, and each sample is yielded once. Only a
//     read that takes longer than an hour between two buckets can miss samples that moved
//     in the meantime.
//
// # Bins
//
// A reader takes the bins of a range from tiles of rollups where these claim to be
// complete, and computes the others from samples. The order is as above, with tiles before
// blocks: memory, journal, tiles, blocks.
//
//   - For a late sample, a sealer updates the tiles that claim its time before it raises
//     the sealed position, and the sample leaves memory after that. A sample that is
//     neither in memory nor in an unsealed row is therefore in every bin that a tile
//     claims, because the reader reads tiles later. A sample in memory or in an unsealed
//     row is fresh: the bin that it is in, and the next bin with samples, are computed
//     from samples, regardless of tiles.
//   - Each bin is found in one place. The bins that the tiles of a level do not claim, and
//     those that fresh samples change, are found in the next finer level, and so on, and
//     finally in samples.
//   - A tile that is rewritten while it is read has the same bins, or additional samples.
//     A claim only grows.
//
// # Memory
//
// A reader decodes only the blocks that overlap at one moment of the range, regardless of
// the length of the range: for large values mostly one block. It reads ahead, for each
// size and tier 1 MiB of blobs or one larger blob. It holds all samples that are not in
// blocks yet: their number is bounded by the memory of the engines and the time between
// checkpoints. Of large values it holds only those in the range, without copying them;
// large values do not wait for checkpoints.
package query
