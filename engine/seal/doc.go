// Package seal turns journalled samples into blocks. Each shard that an engine seals has a
// Shard, which does the following at every checkpoint:
//
//	claims ──▶ rows of other writers ─┐
//	                                  ├─▶ sort, drop duplicates ─▶ plan ─▶ blocks ─▶ store
//	shard journal ──▶ Head.Unsealed ──┘                                                │ acknowledged
//	                                                                                   ▼
//	   Head.Sealed, sealed positions ◀── rollups (tiling) ◀── late samples carried forward
//	                                                                                   │ checkpoint done
//	                                    tier migrations, in the background (relocation) ◀┘
//
// A Shard raises a sealed position only after the blocks that hold every sample up to it are
// acknowledged, and a head releases samples only then. A reader looks at memory first, then at
// the journal after the sealed positions, then at blocks. So it finds each sample in at least one
// of them at every moment: a sample that is missing from memory and journal was in a block before
// it left them, and the reader reads blocks later.
//
// # Three packages
//
// Each of three packages keeps its own state of a PV:
//
//   - seal (this package) writes blocks, carries samples forward, and leads or follows. Its Shard
//     drives the other two, and holds the shard's turn meanwhile. So the three never work on a
//     shard at the same time.
//   - tiling computes rollups. It is notified of acknowledged blocks before their sealed positions
//     rise.
//   - relocation moves blocks between retention tiers, and deletes blocks before the deletion
//     cutoff.
//
// They share a PV's directory entry as this process knows it (layout.Entry).
//
// # Leader and followers
//
// Several engines may hold a shard. One of them leads, and seals: the one whose claim is alive
// and has the highest term. The others follow. Leadership passes through the store, so neither
// the operator nor the API server has to be available:
//
//	Follow ── ordered to lead, or the leader is dead, or none for 15 s ──▶ Run: term = highest + 1
//	       ◀── ordered to follow, or a live claim has a higher term ──────
//
// A new leader writes its term to its claim before it reads anything else. A leader checks for
// higher terms when it reads the claims: at each checkpoint before it writes blocks, and every two
// seconds while it watches other writers. It steps down when it finds one. In the meantime two
// engines may seal the same samples. This is safe: each writes blocks under its own writer ID,
// and readers drop duplicates. The new leader knows that it may not be alone, and recomputes the
// rollup bins that either of them may have left incomplete: see package tiling.
//
// # What is sealed when
//
// The leader seals rows of writers that are closed or dead as soon as it sees them, and rows of
// living writers at checkpoints. A follower reads its own sealed position, and its heads release
// the samples up to it. If a follower is short of memory, it assists: it seals its own samples,
// and its claim says so before it starts.
//
// A writer that is not closed, and gives no sign of life for Config.Silence, counts as dead: its
// rows are sealed and its claim is dropped. A mistake is harmless: a writer that was only slow
// claims the shard again before it sends another row, and the next checkpoint finds the claim.
//
// PVs with large values are sealed before the checkpoint, as soon as a head is heavy, and a large
// volume of journal rows brings the next checkpoint forward. So the memory that a reader or a
// successor needs for unsealed samples is bounded by bytes, not by time.
//
// # Blocks
//
// An open block grows under its key: later versions append samples that are not older than its
// last one, and never lose one. Older samples open another block.
//
// Each bucket begins with a carried-forward copy of the last sample before it. If samples come
// late, and buckets had begun after them with an older copy, those buckets get another copy. Of
// several copies the latest counts.
//
// A block is written to the retention tier that keeps it for as long as its PV's retention asks.
// Samples that are too old for the tier are not written, but the last one is still carried
// forward. When the tier of a PV changes, the next block opens on the new tier.
//
// Samples before the deletion cutoff (package guard) are refused, but for the last sample of a
// PV. Otherwise rollups of that time would be recomputed from the late samples alone.
package seal
