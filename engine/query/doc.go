// Package query reads the samples of a PV: it finds every place where they may
// stand, merges them by time and removes doubles.
//
//	1 memory  ── Recent ────────────────────────────────┐
//	2 journal ── claims, rows after sealed ─────────────┼─▶ merge ─▶ window ─▶ runs, in order of time
//	3 blocks  ── bucket by bucket, a little way ahead ──┘
//
// # No hole at any moment
//
// While a reader looks around, sealers move samples from memory and journal to
// blocks. The order of reading makes sure that it misses none that was durable,
// or in memory, when the read began:
//
//   - A sample moves one way only: its writer drops it from memory, and raises
//     the sealed position of its claim, after the block that holds it was
//     acknowledged. A block never loses a sample.
//   - A writer that memory covers: the sample is in memory, or it left memory
//     before the reader looked, so it stands in a block, which is read later.
//   - Any other writer inserted its claim before its first row. Its sample is in
//     a row after the sealed position, or was in a block before the reader saw
//     that position. A row that is deleted meanwhile was sealed before.
//   - Rows of a PV stand in the shard of its name, in the one that it is captured
//     in now, or in one that the directory names. The directory names the shard
//     and the bucket of a block before the block is written. So it is read twice:
//     for the shards before the claims, but for those of the shard of the name, which
//     are read at the same time; and for the buckets after the journal.
//
// Memory may be that of several engines, each asked over the network: each answers
// for its own writers, so the argument holds for every one by itself. An answer is
// older than what is read after it, which is the order above, but must not be older
// than the beginning of the read. An engine that can not be asked covers nobody:
// its rows are read as those of any other writer. A shard that an engine released
// is not covered any more, and its claim stands until its rows are sealed.
//
// What is read twice on the way is one sample of the set, and is shown once.
//
// # Tiers
//
// Blocks of a PV stand in buckets of several sizes, on several tiers of the retention
// tiers. All are united, but for the buckets that are expired by the reader's clock:
// those are not looked at, whether the store has deleted them yet or not. So a read
// that begins after the moment at which a bucket expires never sees a part of it.
//
//   - The last sample before a range may stand on any tier. A bucket that tells where
//     it is at the earliest, tells so for all tiers: it holds that sample, or a later
//     one, or a copy of it. A bucket that expires after it told so takes at most
//     its own sample along, as it does for a read that begins a moment later.
//   - What was before the oldest bucket of a tier is gone. If nothing came since, the
//     carried-forward sample of a later bucket is the only copy, and is shown as the sample
//     that it is, at its own time.
//   - A sealer that moves blocks to another tier writes the directory, then copies of
//     the blocks, and deletes the old ones an hour after the copies were acknowledged.
//     A reader that knows the new tier asks for a bucket there and for the old one.
//     If the copy was not there yet, the old blocks are, for an hour; a reader that
//     finds the old bucket empty comes an hour after the copy, and found it. One that
//     does not know the new tier read the directory before the first copy. In the hour
//     between, blocks are read twice, which shows each sample once. Only a read that
//     takes longer than an hour between two buckets can miss what moved meanwhile.
//
// # Bins
//
// Bins of a range are read from tiles of rollups as far as those claim to be complete,
// and computed from samples where they do not. The order is that of above, with tiles
// before blocks: memory, journal, tiles, blocks.
//
//   - A sealer brings the tiles whose claims a late sample is in up to date before it
//     raises the position, and memory gives the sample up after that. So a sample that is
//     neither in memory nor in a row is in every bin that a tile claims, as it is read
//     later. One that is in them is fresh: the bin it is in, and the next one that has
//     samples, are computed from samples, whatever tiles say.
//   - A bin is found in one place: what tiles of a level do not claim, and what is fresh,
//     is cut out, and found in the next finer level, or in samples; so on with that.
//   - A tile that is written again while it is read says the same of its bins, or has what
//     came since. A claim only grows.
//
// # Memory
//
// Of the blocks only those that overlap at one moment of the range are decoded
// at a time, whatever the length of the range: of large values mostly one. The store
// reads ahead of them: of each size and tier 1 MiB of blobs, or one that is larger. What is
// not in blocks yet is held whole: it is bounded by the memory of the engines and the
// time between checkpoints. Of large values only those in the range are held, and
// not copied; they do not wait for checkpoints.
package query
