// Package spool keeps rows of the journal on a local disk while the store is away,
// and sends them when it is back.
//
//	journal.ShardJournal ── Put ──▶ Run: one write and one fsync for all shardJournals
//	                              │
//	        query ◀── Recent ── segments: files, oldest first ── too many: the oldest
//	                              │                              is dropped, and marked
//	                            Drain: a few rows at a time ──▶ store (journal)
//
// A segment is one file and one writer: it has a claim in each shard whose rows it
// holds, and rows have their positions from the moment they are written. So a segment
// can be sent again after a crash, the same bytes under the same positions, and
// nothing has to be kept of how far that was; and one that is dropped leaves no hole
// in the positions of another one, which readers would take for the end.
//
// Claims are made when the store takes rows again. Shard by shard the drainer claims,
// sends the rows in order and closes the claim, so that a sealer may seal and forget
// it at once. ShardJournals send live rows meanwhile, under writers of their own.
//
// # What could be lost or doubled
//
// These are the orders of events that were looked at:
//
//   - A row is acknowledged to a shardJournal, which lets go of its samples, only after the
//     file is synchronized, and before it the name of the file. What is torn behind
//     that when the power fails was never acknowledged: opening cuts it.
//   - After a failed write or fsync nobody knows what of it is on the disk. The
//     segment takes no more rows, and the shardJournal keeps the samples: they may be stored
//     twice, under two writers, which is one sample for a reader.
//   - The row that a shardJournal had under way when the store went away may be in the store,
//     or get there late. The shardJournal never uses its position again, and its samples are
//     put into the spool: as above.
//   - A reader looks at memory, then at the spool, then at claims and journal, then at
//     blocks. Samples move in that order only: a shardJournal drops them after they can be
//     found here, and here they are passed over after the store has acknowledged row
//     and claim. A file that vanishes under a reader was sent. So no sample is missed
//     that was not dropped. What a writer's claim covers of the spool is never said
//     to be in memory: rows that are sent are read from the journal.
//   - A shard may be given up while its rows wait. Then nothing here but the rows says
//     which PVs it has, so who reads a PV names the shards that it is, or has been, in.
//   - A claim that the store did not acknowledge does not count: a row that is sent without
//     one is found by nobody, and is passed over here.
//   - Killed while it sends: the next process sends the segment again from its
//     beginning. Rows that were sealed meanwhile stand before the sealed position,
//     and are not read again.
//   - A drainer that is held up, as when the store goes away once more, may be taken
//     for dead by another engine, which seals what it finds and drops the claim. So
//     the claim is written again before the next row. But the other one may be slow:
//     it saw the claim before, and drops it after it was closed. Therefore a segment
//     for which that can be is kept for a minute, its claims are written once more, and
//     only then it is deleted.
//   - Two processes can not use one directory, nor a file of another archive: its name
//     stands in each.
//
// # Bounds
//
// The files take Config.Size at most, but for damaged ones that were set aside. While
// the drainer reads, it holds a few rows. Recent reads the rows of a PV's shard, by
// the chain that links them, and returns 64 MiB of samples at most: who asks for a time
// of which more waits gets an error, and can ask for a shorter one. What is known of a
// file in memory is a few words for each shard.
package spool
