// Package tiling computes the rollups of a shard from sealed samples, and keeps their tiles up to
// date. The shard's sealer (package seal) drives it, and notifies it of acknowledged blocks:
//
//	blocks acknowledged ─┬─ in order ─▶ accumulators ─▶ pending bins ─▶ tiles, when due
//	                     └─ late ─▶ repair: blocks ─▶ bins ─▶ tiles, before the sealed position rises
//
// A tile says up to which time it is complete. Readers compute later bins from samples. So samples
// in order cost only the work of the accumulators. Pending bins are written at the end of a
// checkpoint, when one of these is true: there are a quarter as many as the tile has bins, the
// tile has ended, or an hour has passed.
//
// # The invariant
//
// If a sample is sealed, and a tile claims to be complete at its bin, then the bin includes the
// sample:
//
//   - A sample from before the end of a tile's claim changes its own bin. It also changes the bin
//     of the next sample, because its value is held until then. Both are recomputed from blocks
//     and written after the sample's block was acknowledged, before the sealed position rises,
//     and before memory releases the sample. A reader that finds the sample in neither memory
//     nor journal looks at tiles later. A reader that finds it there computes these bins itself.
//   - A crash in between leaves the sealed position where it was. The rows are sealed again, as
//     late samples. What was written before the crash has the same contents as what is written
//     then.
//   - A new sealer, and a new level, begin where tiles end, or where raw samples begin. The
//     accumulators catch up from blocks, the oldest samples first, by a bounded number at a
//     checkpoint.
//   - Samples often come twice, or late by up to a minute. So bins of the latest minute are not
//     written yet. A copy of each accumulator lags behind by a minute: from there the sealer reads
//     blocks again when such a sample comes.
//   - A bin begins with the value at which the bin before ended, as the tiles have it. Blocks have
//     this value, too, but not if it came after the next bucket had begun, nor if it has expired.
//     Bins from before the oldest bucket are never recomputed.
//
// # Two sealers
//
// Two sealers at a time do not see each other's samples until they read each other's claims. What
// they wrote meanwhile is corrected later:
//
//   - Each time that the sealer reads the claims, it sees the sealed positions that rose without
//     its doing (News). For the PVs in those rows, which are still there, it forgets its state,
//     reads the tiles again, and recomputes the bins of those samples. It also recomputes the bins
//     of samples that came late to itself since the claims were read before, because the other
//     sealer may have overwritten them. If a claim is gone with its rows, this is done for all
//     PVs.
//   - While others seal the shard, the sealer reads the latest tile again after blocks are
//     acknowledged and before positions rise. A sample in order for one sealer may be late for
//     another that has closed the bin.
//   - A tile is read before it is rewritten. If its stamp is not that of the last write, or it
//     should not exist, another sealer wrote it: all bins that are not in tiles of this sealer are
//     recomputed. This also detects the sealer of another shard to which the PV once belonged.
//   - Stamps order writes, and no two sealers use the same. The stamp of bins that were computed in
//     order is the time when the claims were read. The stamp of a repair is the time before it
//     read the blocks. A stamp is always later than that of the tile that was read.
//   - If A reads a tile, B writes it, and A writes it, the samples that B added may be missing. So
//     while others hold the shard, a sealer checks each tile that it wrote once more at its next
//     checkpoint. If the tile is not as the sealer left it, the sealer recomputes it from blocks,
//     and writes it if that makes a difference. This fails only if a writer waits for longer than
//     that between its read and its write, or B ends before its check. Even then, bins of the
//     latest hour are safe, because a new sealer recomputes them in any case.
//
// The last bins of a PV that nobody captures any more are written by the sealer that had it. If
// that sealer ended before, they are written when the PV is captured again; until then readers
// compute them.
package tiling
