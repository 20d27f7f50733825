// Package guard is the disk guard: when an archive comes near its size limit, the guard deletes the
// oldest raw samples first, and reports it.
//
//	size, limit ─▶ Decide ─▶ cutoff raised ─▶ store ─▶ each engine, once a minute ─▶ Sealer.DropBefore
//	                 ▲                                                                      │
//	                 └── bytes deleted, and not free yet ◀── progress, by shard ◀───────────┘
//
// Before the cutoff the archive keeps only rollups, marks, metadata, and the bucket with each PV's
// last sample. The engine that seals shard 0 decides. Each engine follows for the shards that it
// seals, whether it has a limit or not, and also for PVs that nobody captures any more.
//
// The cutoff rises in small steps. The guard takes the next step when all shards have followed, and
// what they deleted is not enough. A step is a length of time, because nobody knows how many bytes
// a time span has before it is deleted. So the yield of each step determines the length of the next.
//
// Deleted bytes may take long to become free. In Cassandra a deletion adds a tombstone, and
// compactions free the space, or `nodetool garbagecollect`. The guard tells the embedded store to
// free it once enough was deleted. So the guard subtracts from the size what was deleted and is not
// free yet:
//
//	waiting = deleted since all was free − (greatest size since − size now)
//
// New data makes it look as if less had become free than has. So the guard waits too long rather
// than deleting too much. When only a little is still waiting, the guard starts the count again.
//
// Failures are harmless:
//
//   - Two engines may decide at a time when shard 0 moves. They read the same cutoff, and each
//     raises it by a step: the higher one stays. Neither takes another step before all shards
//     have followed.
//   - A cutoff never falls. So an engine that knows a lower one deletes nothing that should stay.
//     Samples that it still writes before the higher cutoff stay.
//   - A shard that nobody seals does not follow. The cutoff does not rise meanwhile.
//   - Sealers refuse samples before the cutoff, from wherever they come, but for the last one of
//     a PV. Otherwise a rollup bin would be recomputed from a late sample alone.
//   - An engine with a wrong clock raises the cutoff at most by steps from where data begins, and
//     sealers delete nothing that is younger than a day by their own clock.
//   - If the size is not known, because a node is down, the guard decides nothing.
package guard
