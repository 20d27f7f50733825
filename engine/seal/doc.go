// Package seal turns journalled samples into blocks. Each shard that an engine
// seals has a Shard, which at every checkpoint goes through
//
//	claims ──▶ rows of other writers ─┐
//	                                  ├─▶ sort, drop doubles ─▶ plan ─▶ blocks ─▶ store
//	shardJournal ──▶ Head.Unsealed ───────────┘                                   │ acknowledged
//	                            Head.Sealed, sealed positions ◀───────────┘
//
// A position rises only after the blocks are acknowledged that hold every sample
// up to it, and a head gives up samples only then. So a reader who looks at
// memory first, then at the journal after the sealed positions, then at blocks,
// sees each sample in at least one of them at every moment: a sample missing
// from the first two left them after it stood in a block, which is read later.
//
// # Who seals
//
// Of the engines that hold a shard one seals: that of the claim that lives and has the
// highest term. The others follow. A role passes in the store, so neither the operator nor
// the API server has to be there:
//
//	Follow ── ordered to, or the sealer is dead, or none for 15 s ──▶ Run: term = highest + 1
//	       ◀── ordered to, or a claim that lives has a higher term ──
//
// Who takes the role writes its term before it looks at anything else, and who has it looks
// for higher ones every two seconds, and before it writes. In between two may seal, which is
// harmless: see below. The one that comes knows of the other, and puts right what bins lack,
// also of the other's.
//
// # What is sealed when
//
// Rows of writers that are closed or dead are sealed as soon as they are seen, those of a
// writer that lives at checkpoints. An engine that follows looks up its own sealed position,
// and its heads give up the samples up to there. Short of memory it seals its own samples all
// the same, and its claim says so beforehand. Two sealers at a time are harmless: each writes
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
// older than its last one; it never loses one. Older samples open another block, and
// where buckets had begun after them already, those begin with the later sample from
// then on: of several carried-forward ones the latest counts.
//
// # From tier to tier
//
// Blocks stand on the tier that keeps them for as long as their PV's retention asks.
// Samples that are too old for it are not written; the last one is carried forward all the
// same. When the tier of a PV changes, the next block opens on the new one, and what
// stands on others follows in the background: see moves. That nothing is lost:
//
//   - A bucket is dropped when each of its blocks is seen, at least as long, on the new
//     tier, an hour after it was copied. A block that grew since, or is new, by
//     another sealer that has not heard of the change, is copied first, and waits anew.
//   - Readers in that hour see one or both; see package query. One that looked at
//     the new tier before the copy comes to the old one within an hour.
//   - Between the look and the deletion another writer might add to the bucket. So
//     while others hold the shard, a bucket that is still being filled stays.
//   - Two sealers that are told different tiers copy to and fro, and each would delete
//     what it takes for the original. So only the one of the highest term deletes, and
//     what it deletes is whole elsewhere.
//   - The present value is carried forward on the new tier at the checkpoint before anything is
//     copied. Of a PV that is sealed by nobody else, it is looked up in the store.
//   - A crash at any point leaves what is not deleted: the next sealer copies it under
//     the same keys. A retention that is taken back within the hour deletes nothing.
//   - A deletion of the PV and a move exclude each other in a shard.
//
// # Giving up
//
// Before the cutoff (package guard) raw samples are given up for want of room: DropBefore
// deletes, in the shard's turn, so that moves and deletions of the PV are excluded; nothing
// moves to there; and samples that come later are refused, but for the last one of a PV.
// Else rollups of that time would be computed again from these samples alone.
//
// # Rollups
//
// The sealer decimates what it seals (package rollup), for the levels that a PV is to
// have:
//
//	run ─▶ blocks acknowledged ─┬─ in order ─▶ accumulators ─▶ pending bins ─▶ tiles, when due
//	                            └─ late ─▶ repair: blocks ─▶ bins ─▶ tiles, before the position rises
//
// A tile says up to where it is complete, and readers compute the rest. So what is in
// order, and after that, costs nothing but the accumulators; tiles are written at the
// end of a checkpoint, when there are a quarter as many new bins as the tile has, or the
// tile is over, or an hour has passed. What must hold is that a sample that is sealed,
// whose bin a tile claims, is in it:
//
//   - A sample from before the end of a claim changes its bin, and, as its value is held,
//     the bin of the next sample. Both are computed again from blocks, and written,
//     after the block of the sample was acknowledged, and before its position rises, and
//     before memory gives it up. A reader that finds it in neither looks at tiles later.
//     A reader that finds it there computes these bins from samples.
//   - A crash in between leaves the position where it was: the rows are sealed again, as
//     samples that came late. What has been written says the same as what will be.
//   - A new sealer, and a level that is new, begin where tiles end, or raw samples do; the
//     accumulators catch up from blocks, the oldest samples first, so many at a
//     checkpoint. Samples that come twice or late by up to a minute are why the bins of
//     the latest minute wait, and why a copy of the accumulator lags by a minute: from
//     there it reads blocks again.
//   - What a bin begins with is what the bin before ended with, by the tiles. Blocks tell
//     that too, but not of samples that came after the next bucket had begun, nor of
//     those that expired. Bins from before the oldest bucket stay as they are.
//
// Two sealers at a time can not see each other's samples before they look. What they
// write meanwhile is put right later:
//
//   - Each look at the claims shows positions that rose without this sealer's doing. Of
//     the PVs in those rows, which are still there, it forgets what it knows, reads the
//     tiles anew, and computes again the bins of those samples, and of those that came
//     late to itself since the look before: the other one may have overwritten them. A
//     claim that is gone with its rows stands for all PVs.
//   - While others seal the shard, the latest tile is looked at again after blocks are
//     acknowledged, and before positions rise: what is in order for one may be late for
//     the other, which closed the bin.
//   - A tile is read before it is written again. If its stamp is not that of the last
//     write, or it should not be there, then another sealer wrote it: all that is not in
//     tiles of this one's writing is computed again. That also finds the sealer of a shard
//     that the PV was in before.
//   - Stamps order writes; no two sealers give the same. That of bins computed in order is
//     the time of the look at the claims, that of a repair the time before it read the
//     blocks; and always more than that of the tile that was read. If A reads a tile, B
//     writes it, and A writes it, what B put in may be missing. So while others hold the
//     shard, a sealer looks at each tile that it wrote once more at its next checkpoint:
//     one that is not as it left it is computed again from blocks, and written if that
//     makes a difference. It takes a writer that waits for longer than that between its
//     reading and its writing to do harm, or B to end before it has looked; and not if it
//     was in the latest hour, which a new sealer computes again in any case.
//
// The bins after the latest tile of a PV that nobody captures any more are written by the
// sealer that had it. If that ended first, they are written when the PV is captured
// again; until then readers compute them.
package seal
