// Package guard is the disk guard. When an archive comes close to its size limit, the guard
// deletes the oldest raw samples first and reports it.
//
//	size, limit ─▶ Decide ─▶ cutoff raised ─▶ store ─▶ each engine, once a minute ─▶ Sealer.DropBefore
//	                 ▲                                                                      │
//	                 └── bytes deleted, and not free yet ◀── progress, by shard ◀───────────┘
//
// Of the time before the cutoff, the archive keeps only rollups, marks, metadata, and the bucket
// with each PV's last sample. The engine that seals shard 0 decides. Each engine follows the
// cutoff for the shards that it seals, even if it has no limit itself. It also deletes samples
// of PVs that are no longer captured.
//
// The cutoff rises in small steps. The guard takes the next step when all shards have followed
// and the deleted bytes are not enough. A step is a length of time, because the number of
// bytes in a time span is unknown until the span is deleted. The number of bytes that a step
// deleted therefore determines the length of the next step.
//
// A compaction, a repair, or a node that streams makes the archive larger for some time. The
// guard therefore uses the smallest of several readings of the size, and pauses after each step.
//
// Deleted bytes may take a long time to become free. In Cassandra a deletion adds a tombstone,
// and the space becomes free through compaction or `nodetool garbagecollect`. The guard asks
// the embedded store to free the space once enough was deleted. To allow for the delay, the
// guard subtracts from the size the deleted bytes that are not free yet:
//
//	waiting = deleted since all was free − (greatest size since − size now)
//
// New data hides some of the freed space. The guard therefore waits too long rather than
// deleting too much. When only a few bytes are still waiting, the guard starts the count
// again.
//
// Failures are harmless:
//
//   - Two engines may decide at the same time while shard 0 moves. They read the same cutoff,
//     and each raises it by a step: the higher cutoff wins. Neither takes another step before
//     all shards have followed.
//   - A cutoff never falls. An engine that knows an older, lower cutoff therefore deletes too
//     little, never too much. If it still writes samples from before the higher cutoff, they
//     stay.
//   - A shard without a sealer does not follow. The cutoff does not rise until the shard has a
//     sealer again.
//   - Sealers refuse samples before the cutoff from every source, except the last sample of a
//     PV. Otherwise a rollup bin would be recomputed from a late sample alone.
//   - An engine with a wrong clock raises the cutoff only step by step, starting where the
//     data begins. Sealers delete nothing that is younger than a day by their own clock.
//   - If the size is unknown because a node is down, the guard decides nothing.
package guard
