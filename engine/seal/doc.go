// Package seal turns journalled samples into blocks. Each shard that an engine seals has a
// Shard, which does the following at every checkpoint:
//
//	claims ──▶ rows of other writers ─┐
//	                                  ├─▶ sort, drop duplicates ─▶ plan ─▶ blocks ─▶ store
//	shard journal ──▶ Head.Unsealed ──┘                                                │ acknowledged
//	                                                                                   ▼
//	   Head.Sealed, sealed positions ◀── rollups corrected (tiling) ◀── late samples carried forward
//	                                                                                   │ checkpoint done
//	                                    tier migrations, in the background (relocation) ◀┘
//
// A Shard raises a sealed position only after the store has acknowledged all blocks with samples
// up to this position. A head also releases its samples only after their blocks are
// acknowledged. A reader reads memory first, then the journal after the sealed positions, then
// blocks. It therefore finds each sample in at least one of these places at any moment: a sample
// leaves memory and the journal only after it is in a block, and the reader reads blocks last.
//
// # Three packages
//
// Each of three packages keeps its own state of a PV:
//
//   - seal (this package) writes blocks, carries samples forward, and leads or follows. Its Shard
//     drives the other two packages while it holds the shard's turn. The three packages therefore
//     never work on a shard at the same time.
//   - tiling computes rollups. It is notified of acknowledged blocks before their sealed positions
//     rise.
//   - relocation moves blocks between retention tiers, and deletes blocks before the deletion
//     cutoff.
//
// They share a PV's directory entry as this process knows it (layout.Entry).
//
// # Leader and followers
//
// Several engines may hold a shard. The leader is the engine whose claim is alive and has the
// highest term. It seals the shard, and the other engines follow. Engines hand over leadership
// through the store, so neither the operator nor the API server has to be available:
//
//	Follow ── ordered to lead, or the leader is dead, or none for 15 s ──▶ Run: term = highest + 1
//	       ◀── ordered to follow, or a live claim has a higher term ──────
//
// A new leader reads the claims, and writes its term to its own claim before it does anything
// else. A leader checks for higher terms when it reads the claims: at each checkpoint before it
// writes blocks, directly before it writes tiles if that was two seconds ago, and every two seconds
// while it watches other writers. It steps down when it finds a higher term. In the meantime two engines
// may seal the same samples. This is safe: each engine writes blocks under its own writer ID, and readers
// drop duplicates. The new leader sees the claim of the old one, and recomputes the rollup bins that
// either of them may have left incomplete: see package tiling.
//
// The former leader does not know writers that came after it read the claims, so it could write bins
// without their samples. The new leader therefore does not seal before the former leader's claim says
// that it follows, or is closed, or ten seconds have passed. From then on the former leader finds the
// higher term before it writes tiles.
//
// # When samples are sealed
//
// The leader seals rows of writers that are closed or dead as soon as it sees them, and rows of
// living writers at checkpoints. It looks for closed writers every ten seconds, and every two seconds
// for a minute after it has found one. A follower reads its own sealed position, and its heads
// release the samples up to it. If a follower is short of memory, it assists: it seals its own
// samples, and its claim says so before it starts.
//
// A writer that is not closed, and gives no sign of life for Config.Silence, counts as dead: its
// rows are sealed and its claim is dropped. A mistake is harmless: a writer that was only slow
// claims the shard again before it sends another row, and the next checkpoint finds the claim.
// While another engine may still work as the leader, claims and their rows stay, so that this engine
// does not compute rollups without the samples.
//
// The leader seals PVs with large values before the checkpoint, as soon as a head is heavy. A
// large volume of journal rows brings the next checkpoint forward. Unsealed samples, which a
// reader or the next leader must hold in memory, are therefore bounded by bytes, not by time.
// The leader also seals the last samples of a PV as soon as its capture has ended, because a
// search finds the PV only by the directory from then on.
//
// # Late samples
//
// Samples that come after their bins were written to tiles make these tiles wrong. The sealer corrects
// tiles after it has sealed, a limited number of PVs at a time, and waits for more late samples of a
// writer that has ended. Until then the rows stay unsealed, so that readers find the samples there.
// See docs/design/late-samples.md.
//
// # Refused PVs
//
// If the store refuses the blocks or the rollups of a PV for a minute, for example because their
// partition cannot be written, the sealer goes on without this PV and tries again at each checkpoint. The
// samples of the PV stay in the journal, and in memory. The sealed position of a writer does not
// pass a row with such samples, so the rows of other PVs behind it stay unsealed too, although
// their samples are in blocks. The sealer remembers which rows these are, and does not write their
// samples again. A new leader does, and readers drop the duplicates.
//
// # Rows that are not sealed
//
// Cassandra keeps journal rows for a limited time. If blocks cannot be written, the leader writes
// unsealed rows again once they are older than half of that time, under the same positions. It
// reports how old the oldest unsealed row is.
//
// If rows have expired nevertheless, because the shard had no leader, the sealer goes on with the
// rows behind them, and marks the samples of the expired rows as lost.
//
// # Damaged bytes
//
// If a stored block cannot be read, the sealer goes on without it. It reports the block once,
// marks its samples as lost, carries nothing forward in place of its last sample, and keeps the
// rollup bins that were computed from it.
//
// If a journal row cannot be read, the later rows of its writer wait for up to three minutes,
// because a replica that answers later may have the bytes. Then the sealer marks the samples of
// the row as lost. Samples of other writers do not wait. A row of a later format version waits
// until an engine that knows the version seals the shard.
//
// # Blocks
//
// An open block grows under its key: later versions append samples that are not older than the
// block's last sample, and keep all earlier samples. Older samples open another block.
//
// Each bucket begins with a carried-forward copy of the last sample before it. Buckets may begin
// with an older copy when samples arrive late. These buckets then get another copy. If a bucket
// has several copies, the latest one counts.
//
// A block is written to the retention tier that keeps it for as long as its PV's retention
// requires. Samples that are too old for the tier are not written, but the last one is still
// carried forward. When the tier of a PV changes, the next block opens on the new tier.
//
// The sealer refuses samples before the deletion cutoff (package guard), except the last sample of
// a PV. Otherwise rollups of that time would be recomputed from the late samples alone.
package seal
