// Package backup copies the rows of an archive to a destination, verifies the copies, and restores them:
//
//	store ──▶ rows ──▶ packs, named by their SHA-256 ──▶ manifest, written last ──▶ destination
//	                                                                                    │
//	empty store ◀── rows ◀── packs, checked ◀── manifest ◀──────────────────────────────┘
//
// A pack is a file of encoded rows. Backups in one destination share packs: a pack that exists is not written again. A backup
// exists once its manifest exists. docs/format/backup.md draws both.
//
// # Order
//
// Engines write while a backup is made. The rows are therefore copied in the direction in which samples move:
//
//	claims ─▶ journal ─▶ sealed positions ─▶ for each slice of PVs:
//	    directory ─▶ blocks ─▶ rollups ─▶ directory again ─▶ marks, metadata ─▶ cutoff of the disk guard
//
// A restored archive has every sample that was acknowledged before the backup began, and readers see it once:
//
//   - A sample that is in the journal when the claims are read is in a row after the sealed position. If it is sealed before
//     the row is read, it is in a block before the blocks are read. If both are copied, readers drop the duplicate.
//   - The sealed positions are read again after the journal, because a store may delete rows that are sealed. Without it, a
//     copy could have a claim with a lower position and a gap after it. They are read before the blocks, so the blocks
//     hold all samples up to them. A claim that is gone by then is left out: all its rows are sealed.
//   - Blocks are found by the directory, which lists a bucket before its first block. So the directory that is read after the
//     claims leads to all blocks that existed then. When the retention of a PV changes, its samples are copied to buckets of
//     another tier, and deleted an hour later. If a bucket was empty because its samples had moved, the directory that is read
//     again lists the new buckets, and the backup reads these too. If reading a month of a PV in several tiers takes
//     more than half an hour, it is read twice.
//   - A bucket begins with a copy of the last sample before it. If that sample was sealed after its own bucket was copied, its
//     block is copied again, so that the copy has no carried-forward sample without its original.
//   - The copied directory is the second one: it lists more, never less, than the copied blocks need. But a deletion counts as
//     done only if it was done before the blocks were read, so a restored engine deletes these samples from the copy, too.
//   - Rollups come after blocks: bins may summarize more samples than the blocks have, never fewer.
//   - The progress of the disk guard comes before the blocks, so that it deletes copied blocks again. The cutoff comes after
//     them, so that it explains the samples that were already deleted.
//
// Journal rows in a backup do not expire, so a backup need not wait for a checkpoint, as snapshots must (docs/backup.md). A
// restore writes them last, with a new time to live.
//
// # Slices
//
// PVs are assigned to slices by the hash of their names, and the rows of a slice are grouped by time. So the packs of former
// months do not change, and the next backup reuses them. Within a group, the key of a row decides whether a pack ends after it,
// so a row that grows changes only the packs near it.
package backup
