// Package tiling computes the rollups of a shard from sealed samples, and keeps their tiles up to
// date. The shard's sealer (package seal) drives it, and notifies it of acknowledged blocks:
//
//	blocks acknowledged ─┬─ in order ─▶ accumulators ─▶ pending bins ─▶ tiles, when due
//	                     └─ late ─▶ spans ─▶ Correct: blocks ─▶ bins ─▶ tiles, before the sealed position rises
//
// A tile says up to which time it is complete. Readers compute later bins from samples.
// Samples in order therefore cost only the work of the accumulators. Pending bins are written
// at the end of a checkpoint if one of these conditions is true: there are at least a quarter
// as many pending bins as bins in the tile, the tile has ended, or an hour has passed since
// the last write.
//
// # The invariant
//
// If a sample is sealed, and a tile claims to be complete at its bin, then the bin includes the
// sample:
//
//   - A sample from before the end of a tile's claim changes its own bin. It also changes the
//     bin of the next sample, because its value is held until then. The sealer recomputes both
//     bins from blocks. It writes them after the sample's block is acknowledged, before the
//     sealed position rises, and before memory releases the sample. Many late samples of a PV
//     may be corrected together: see docs/design/late-samples.md. If a reader finds the
//     sample in neither memory nor journal, it reads the tiles after that. If a reader finds
//     the sample there, it computes these bins itself.
//   - A crash in between leaves the sealed position unchanged. The rows are sealed again, as
//     late samples. The bins that were written before the crash equal those that are written
//     again.
//   - A new sealer or a new level begins where tiles end, or where raw samples begin. The
//     accumulators catch up from blocks, the oldest samples first. A checkpoint reads only a
//     bounded number of samples for this.
//   - Samples often come twice, or late by up to a minute. The bins of the latest minute are
//     therefore not written yet. A copy of each accumulator lags behind by a minute. When such
//     a sample comes, the sealer continues from the copy and reads later samples from blocks
//     again.
//   - A bin begins with the value at the end of the previous bin, which tiles contain. Blocks
//     contain this value too, unless it came after the next bucket had begun, or has expired.
//     Bins from before the oldest bucket are never recomputed.
//
// # Two sealers
//
// Two sealers that work at the same time do not see each other's samples until they read each
// other's claims. The sealers correct their tiles later:
//
//   - Each time that the sealer reads the claims, it sees the sealed positions that other
//     sealers raised (OtherSealers). The journal rows of these positions still exist. For the
//     PVs in those rows, the sealer forgets its state, reads the tiles again, and recomputes
//     the bins of those samples. It also recomputes the bins of its own recent late samples,
//     because the other sealer may have overwritten them. If a claim is gone with its rows,
//     the sealer does this for all PVs.
//   - The sealer drops the claim of a writer that has ended, with its rows, only when no other
//     engine may still work as the leader. Otherwise a claim could come and go between two reads
//     of the other leader, which would then write bins without samples of the writer.
//   - While others seal the shard, the sealer reads the latest tile again after blocks are
//     acknowledged and before positions rise. A sample that is in order for one sealer may be
//     late for another sealer that has closed the bin.
//   - The sealer reads a tile before it rewrites the tile. If the stamp is not that of the
//     sealer's last write, or if the tile should not exist, another sealer wrote the tile. In
//     this case all bins that are not in tiles of this sealer are recomputed. This also
//     detects the sealer of another shard to which the PV once belonged.
//   - Stamps order writes, and two sealers use different stamps. The stamp of bins that were
//     computed in order is based on the time when the claims were read. The stamp of a repair
//     is based on a time before the repair read the blocks. A new stamp is always later than
//     the stamp of the tile that was read.
//   - A repair computes its bins again if a tile has changed since the repair first read it.
//   - If sealer A reads a tile, sealer B writes it, and then A writes it, the samples that B
//     added may be missing. While others hold the shard, a sealer therefore checks each tile
//     that it wrote once more at its next checkpoint. If the tile has changed, the sealer
//     recomputes it from blocks, and writes it if that makes a difference. This fails only if
//     a writer waits until after that check between its read and its write, or if B ends
//     before its check. Even then, bins of the latest hour are safe, because a new sealer
//     recomputes them in any case.
//
// When a PV is no longer captured, the sealer that had it writes its last bins. If that sealer
// ended before, the bins are written when the PV is captured again. Until then readers compute
// them.
package tiling
