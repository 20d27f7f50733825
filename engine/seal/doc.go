// Package seal turns journalled samples into blocks. Each shard that an engine
// seals has a Shard, which at every checkpoint goes through
//
//	claims ──▶ rows of other writers ─┐
//	                                  ├─▶ sort, drop doubles ─▶ plan ─▶ blocks ─▶ store
//	lane ──▶ Head.Unsealed ───────────┘                                   │ acknowledged
//	                            Head.Sealed, sealed positions ◀───────────┘
//
// A position rises only after the blocks are acknowledged that hold every sample
// up to it, and a head gives up samples only then. So a reader who looks at
// memory first, then at the journal after the sealed positions, then at blocks,
// sees each sample in at least one of them at every moment: a sample missing
// from the first two left them after it stood in a block, which is read later.
//
// Rows of writers that are closed or dead are sealed as soon as they are seen,
// those of a writer that lives at checkpoints. An engine that holds a shard and
// does not seal it follows: it looks up its own sealed position, and its heads
// give up the samples up to there. Two sealers at a time are harmless: each writes
// blocks under a writer of its own, and what both sealed is read once.
//
// A writer that is neither closed nor gives a sign of life is taken for dead: its
// rows are sealed and its claim is dropped. Being wrong is harmless: a writer
// that was only slow claims the shard again before it sends another row, and the
// next checkpoint finds that.
//
// PVs of large values are sealed before the checkpoint, as soon as a head is heavy,
// and what was written to the journal brings the next checkpoint forward: so what a
// reader, or a successor, has to hold of a PV is bounded by bytes, and not by time.
//
// A block that is open grows under its key, by appending samples that are not
// older than its last one; it never loses one. Older samples open another block.
package seal
