// Package relocation moves stored blocks to the retention tier that keeps them for as long as
// their PV's retention asks, and deletes blocks before the deletion cutoff:
//
//	PVs captured, after a checkpoint ─▶ queue ─▶ migration: old buckets ─▶ copied ─▶ an hour later: dropped
//
//	package guard: cutoff ─▶ PlanDeletion ─▶ Deletion.Run: buckets before the cutoff are dropped
//
// The shard's sealer (package seal) drives it, and holds the shard's turn meanwhile. So sealing,
// tier migration and deletion of the same PV exclude each other.
//
// # Tier migration
//
// When the tier of a PV changes, its next block opens on the new tier. Its blocks on other tiers
// migrate in the background. Nothing is lost:
//
//   - A bucket is dropped an hour after it was copied, and only if each of its blocks is
//     found on the new tier with at least as many samples. If another sealer that has not
//     heard of the change added a block, or a block grew, the bucket is copied again and
//     waits for another hour.
//   - During that hour readers see one copy or both; see package query. A reader that looked
//     at the new tier before the copy was there reads the old tier within an hour.
//   - Another writer might add to a bucket between the comparison and the deletion. So while
//     other engines hold the shard, a bucket that may still grow stays.
//   - Two sealers that know different tiers for a PV copy its blocks to and fro, and each
//     would delete what it takes for the original. So only the leader deletes, and only
//     what is complete elsewhere.
//   - The checkpoint carries the present value forward to the new tier before anything is
//     copied. If nobody else seals the PV, the value is read from the store.
//   - A crash at any point leaves buckets that are not deleted: the next leader copies them
//     again under the same keys. If the retention is changed back within the hour, nothing is
//     deleted.
//   - Deletion of a PV and migration of its blocks exclude each other, as both hold the
//     shard's turn.
//
// # Deletion before the cutoff
//
// The disk guard (package guard) raises the cutoff when the archive comes near its size limit.
// Buckets that end at or before the cutoff are dropped, but for the one that has the PV's last
// sample, and those whose large values later buckets carry forward without the value. Nothing
// migrates to before the cutoff. Sealers refuse late samples before it, but for the last one of
// a PV: else rollups of that time would be recomputed from these samples alone.
package relocation
