// Package check walks the rows of an archive and says what is wrong with them.
//
//	directory ──▶ PVs ──▶ buckets ──▶ blocks ──▶ decode ──┬─ header, bucket, order, doubles
//	                 │                                    └─ extents ──▶ overlaps, carried-forward samples
//	                 ├──▶ marks, metadata                                        │
//	shards ──▶ claims ──▶ rows after the sealed positions ──▶ gaps, age          ▼
//	                                                                findings ──▶ Report
//
// It may be run while engines write. A row is read whole or not at all, and the order
// of writing makes most of what it asks for true at every moment: a directory entry
// is acknowledged before the first block it names, a claim before its first row, and
// a sealed position after its blocks. What is not true at every moment is looked at
// twice, since only the last of several writes makes it so again:
//
//   - The directory was read, then a block was written in a new bucket, or of a new
//     type, and then that bucket was read.
//   - A carried-forward sample was written, and the block of the sample that it copies was
//     read before.
//   - A writer was sealed further, and its rows deleted, between reading its claim and
//     reading its rows.
//
// So what a look at a PV, or at a shard, finds counts only if a second look finds
// something as well, and then it is that of the second look.
//
// A copy of the last sample before a bucket may outlive the sample. It is compared
// with what is stored as long as no bucket that could have held the sample is gone.
//
// Memory holds the names of the PVs, and of each PV that is being looked at the times
// of its blocks and its carried-forward samples: of ten years at 10 Hz some 50 MB.
package check
