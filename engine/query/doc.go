// Package query reads the samples of a PV. It reads them from every place where they may be,
// merges them by time and removes duplicates:
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
//   - A sample moves in one direction only. After the block with the sample is acknowledged,
//     the writer raises the sealed position of its claim and drops the sample from memory. A
//     block never loses a sample.
//   - If memory covers the writer, the sample is either in memory, or it left memory before
//     the reader read the memory. In the second case it is in a block, which the reader reads
//     later.
//   - If memory does not cover the writer, the reader reads the writer's rows. It finds the
//     writer, because the writer inserted its claim before its first row. The sample is in a
//     row after the sealed position, or it was in a block before the reader read that
//     position. If a row is deleted in the meantime, it was sealed before.
//   - Rows of a PV are in three kinds of shards: its home shard, which its name determines,
//     the shard that captures it now, and the shards that the directory lists. If no engine
//     captures it, that in which two engines would capture it is added. The directory
//     lists the shard and the bucket of a block before the block is written. The reader
//     therefore reads the directory twice. It reads the shards before the claims, and the
//     buckets after the journal. It reads the claims of the home shard at the same time as the
//     directory, because they do not depend on the directory.
//
// Several engines may hold samples in memory, and the reader requests them over the network.
// Each engine answers for its own writers, so the argument holds for each one separately. An
// answer is older than all data that the reader reads after it. It must not be older than the
// start of the read. The writers of an engine that does not answer are not covered, and the
// reader reads their rows. After an engine has released a shard, its answers no longer cover
// it, and its claim remains until its rows are sealed.
//
// If the reader finds a sample in two places, it yields the sample once.
//
// # Completeness
//
// A result has all samples that were in memory when the read began, unless an engine did not
// answer, or answered without samples because it is busy. The result then lacks the samples that
// this engine has not flushed. CompleteUntil says which samples these can be: no sample that
// arrived before that time is missing.
//
//   - A claim says up to which time all samples of its writer are in acknowledged rows. The
//     reader reads claims before rows, so it finds these rows, or blocks with their samples. A
//     busy engine says the same of its writers, and more recently. It says so before the reader
//     reads the rows.
//   - The reader takes the minimum over the writers that are not covered and have not closed
//     their claims. A closed writer has no samples in memory. A dead writer counts until a
//     sealer drops its claim, because only the sealer knows that no more rows come.
//   - It takes the minimum over the shards in which the PV is captured, or was recently. If an
//     engine is unanswered, it also includes the other shards of the PV: the PV may have been removed
//     a moment ago.
//   - In the other shards of the PV it includes each writer whose samples have not been saved for half
//     a minute. Such a writer holds samples since an outage of the store, or is dead. The PV may have
//     been in its shard until a moment ago, although nobody who knows that has answered.
//   - If no known engine captures the PV, it may have moved to a shard that the reader does not know. Then
//     the result is complete at most until the time up to which the shards are known (Held.Confirmed).
//   - If an engine answered, and was connected to the PV before that time, the engine has
//     received all later samples too, and the result is complete.
//   - A shard without an open claim, whose engine does not answer, is complete until the latest
//     time in its closed claims: the engine has captured, but has not claimed the shard yet.
//
// Times of arrival are the earliest possible times, and times of connection the latest, so answers are right
// although the clocks of engines may be wrong (package clock). A sample may carry an older time.
//
// # Tiers
//
// Blocks of a PV are in buckets of several sizes, on several retention tiers. A read unites
// all of them, except for buckets that are expired by the reader's clock: it skips these even
// if the store has not deleted them yet. If a bucket has expired before a read begins, the
// read therefore never yields a part of the bucket.
//
//   - The last sample before a range may be on any tier. A bucket with samples is a lower
//     bound of that sample's time for all tiers, because the bucket contains that sample, a
//     later one, or a copy of it. If the bucket expires during the read, at most the bucket's
//     own sample is missing, as in a read that begins a moment later.
//   - Samples before the oldest bucket of a tier are deleted. If no sample has arrived
//     since, the carried-forward sample of a later bucket is the only copy. A read yields
//     it as a normal sample with its own time.
//   - A sealer that migrates blocks to another tier first writes the directory and then copies
//     the blocks. It deletes the old blocks an hour after the copies were acknowledged. If a
//     reader knows the new tier, it reads the bucket on the new tier and then on the old tier.
//     If the copy did not exist yet, the old blocks exist for another hour. If the old bucket
//     is empty, the copy is at least an hour old, and the reader has found it. If a reader
//     does not know the new tier, it read the directory before the first copy. During the
//     hour, the reader reads blocks twice and yields each sample once. Only a read that takes
//     longer than an hour between two buckets can miss samples that were migrated in the
//     meantime.
//
// # Bins
//
// Where tiles of rollups claim to be complete, a reader takes the bins of a range from them.
// It computes the other bins from samples. It reads in this order: memory, journal, tiles,
// blocks.
//
//   - If a sample is late, a sealer updates the tiles that claim its time before it raises the
//     sealed position. The sample leaves memory after that. If the reader finds a sample
//     neither in memory nor in an unsealed row, the sample is therefore in every bin that a
//     tile claims, because the reader reads tiles later. A sample in memory or in an unsealed
//     row is fresh. The reader computes the bin of a fresh sample, and the next bin with
//     samples, from samples, regardless of tiles.
//   - The reader finds each bin in one place. If the tiles of a level do not claim a bin, or
//     if fresh samples change it, the reader searches the next finer level, and finally the
//     samples.
//   - If a tile is rewritten during the read, it has the same bins, possibly with additional
//     samples. The claim of a tile only grows.
//
// # Memory
//
// A reader holds in decoded form only the blocks that overlap at one moment of the range,
// regardless of the length of the range. For large values this is usually one block. For each
// bucket size and tier, it reads ahead 1 MiB of blobs or one larger blob. It holds the samples of
// the range that are not in blocks yet. Their number is bounded by the memory of the engines and
// the time between checkpoints. It does not copy large values, which do not wait for checkpoints.
// Of the journal it holds the indexes of a page of rows, and the bodies of a few rows with samples
// of the PV.
package query
