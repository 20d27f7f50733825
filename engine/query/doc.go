// Package query reads the samples of a PV: it finds every place where they may
// stand, merges them by time and removes doubles.
//
//	1 memory  ── Recent ─────────────────────────┐
//	2 journal ── claims, rows after sealed ──────┼─▶ merge ─▶ window ─▶ runs, in order of time
//	3 blocks  ── bucket by bucket, read lazily ──┘
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
//     for the shards before the claims, and for the buckets after the journal.
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
// # Memory
//
// Of the blocks only those that overlap at one moment of the range are decoded
// at a time, whatever the length of the range: of large values mostly one. What is
// not in blocks yet is held whole: it is bounded by the memory of the engines and the
// time between checkpoints. Of large values only those in the range are held, and
// not copied; they do not wait for checkpoints.
package query
