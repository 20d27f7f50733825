// Package relocation moves stored blocks to the retention tier that their PV's retention
// requires, removes samples that users have deleted from blocks, and deletes blocks before the
// deletion cutoff:
//
//	PVs captured, after a checkpoint ─▶ queue ─▶ migration: old buckets ─▶ copied ─▶ an hour later: dropped
//
//	Erase: PVs with deleted ranges ─▶ pass: buckets with deleted samples ─▶ the rest copied, each sample once
//	  ─▶ an hour later: dropped ─▶ next pass
//
//	package guard: cutoff ─▶ PlanDeletion ─▶ Deletion.Run: buckets before the cutoff are dropped
//
// The shard's sealer (package seal) calls this package while it holds the shard's turn.
// Sealing, tier migration and deletion of the same PV therefore exclude each other.
//
// # Tier migration
//
// When the tier of a PV changes, its next block opens on the new tier. Its blocks on other tiers
// migrate in the background. Nothing is lost:
//
//   - A bucket is dropped an hour after it was copied, and only if each of its blocks is found
//     on the new tier with at least as many samples. The bucket is copied again
//     and waits for another hour if one of its blocks grew, or if another sealer added a block
//     because it does not know the new tier yet.
//   - During that hour readers see one copy or both: see package query. If a reader reads the
//     new tier before the copy exists, it reads the old tier within an hour.
//   - Another writer might add to a bucket between the comparison and the deletion. While
//     other engines hold the shard, a bucket that may still grow therefore stays.
//   - If two sealers know different tiers for a PV, each copies the blocks to its tier, and
//     would delete the other's copies as originals. Therefore only the leader deletes, and only
//     blocks that are complete elsewhere.
//   - The checkpoint carries the present value forward to the new tier before anything is
//     copied. If no other engine seals the PV, the value is read from the store.
//   - A crash at any point leaves buckets that are not deleted: the next leader copies them
//     again under the same keys. If the retention is changed back within the hour, nothing is
//     deleted.
//   - Deletion of a PV and migration of its blocks exclude each other, because both hold the
//     shard's turn.
//
// # Deletion before the cutoff
//
// The disk guard (package guard) raises the cutoff when the archive comes near its size limit.
// Buckets that end at or before the cutoff are dropped, with two exceptions: the bucket with
// the PV's last sample, and buckets with large values that later buckets carry forward without
// the value. Nothing migrates to buckets before the cutoff. Sealers refuse late samples before
// the cutoff, except for the last sample of a PV. Otherwise rollups of that time would be
// recomputed from these late samples alone.
package relocation
