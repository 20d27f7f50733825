// Package check reads the rows of an archive and reports what is wrong with them:
//
//	directory ──▶ PVs ──▶ buckets ──▶ blocks ──▶ decode ──┬─ header, bucket, order, duplicates
//	                 │                                    └─ extents ──▶ overlaps, carried-forward samples
//	                 ├──▶ marks, metadata                                        │
//	shards ──▶ claims ──▶ rows after the sealed positions ──▶ gaps, age          ▼
//	                                                                findings ──▶ Report
//
// A check may run while engines write. A row is read completely or not at all. The order
// of writes makes most of the checked conditions true at every moment: a directory entry
// is acknowledged before the first block it lists, a claim before its first row, and a
// sealed position after its blocks. Three conditions are false for a moment, until the
// last of several writes:
//
//   - The directory was read, then a block was written in a new bucket, or of a new
//     type, and then that bucket was read.
//   - A carried-forward sample was written, and the block of the sample that it copies was
//     read before.
//   - A writer was sealed further, and its rows deleted, between reading its claim and
//     reading its rows.
//
// Therefore, if a pass over a PV or a shard finds a problem, the check makes a second pass
// and reports the findings of the second pass only.
//
// A carried-forward sample may outlive the sample that it copies. The check compares it
// with the stored samples unless a bucket that could have held the sample has expired.
//
// Memory holds the names of the PVs. For each PV being checked it also holds the times of
// its blocks and its carried-forward samples: about 50 MB for ten years at 10 Hz.
package check
