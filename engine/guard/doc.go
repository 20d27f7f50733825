// Package guard is the disk guard: when an archive comes to take more of its disks than it
// may, the oldest raw samples go first, and that is said.
//
//	size, limit ─▶ Decide ─▶ cutoff raised ─▶ store ─▶ each engine, once a minute ─▶ Sealer.DropBefore
//	                 ▲                                                                      │
//	                 └── bytes given up, and not free yet ◀── progress, by shard ◀────────────────┘
//
// Before the cutoff nothing is left but rollups, marks, metadata, and of each PV the bucket
// that has its last sample. The engine that seals shard 0 decides. Each engine follows for
// the shards that it seals, whether it has a limit or not; of PVs that nobody captures any
// more, too.
//
// The cutoff rises by small steps: the next is taken when all shards have followed, and if
// what they gave up is not enough. Steps are in time, as nobody knows how many bytes a time
// has before it is given up: each is chosen by what the one before has yielded.
//
// What was given up may not be free for long: in Cassandra a deletion adds a tombstone, and
// room comes with compactions, or when `nodetool garbagecollect` runs. The embedded store is
// told to free it, once enough was given up. So what counts is the size less what was given
// up and has not shown as room:
//
//	waiting = given up since all was free − (greatest size since − size now)
//
// Data that comes in meanwhile makes it look as if less had become free than has. So the
// guard waits too long rather than deleting too much. When little of it is left, it
// begins anew.
//
// That nothing goes wrong:
//
//   - Two engines that decide at a time, as shard 0 moves, read the same cutoff, and raise
//     it by a step each: the higher one stays. Neither goes on before all have followed.
//   - A cutoff never falls, so an engine that knows a lower one gives up nothing that
//     should stay; and samples that it still writes before the cutoff just stay.
//   - A shard that nobody seals does not follow. The cutoff does not rise meanwhile.
//   - Sealers refuse samples before the cutoff, however they come, but for the last one of
//     a PV. Else a late sample would be all that a bin of a rollup is computed from.
//   - A wrong clock raises a cutoff at most by steps from where data begins, and sealers give
//     up nothing that is younger than a day by their own clock.
//   - If the size is not known, as a node is away, nothing is decided.
package guard
