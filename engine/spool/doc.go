// Package spool keeps rows of the journal on a local disk while the store is
// unreachable, and sends them when the store is back.
//
//	journal.ShardJournal ── Put ──▶ Run: one write and one fsync for all shard journals
//	                              │
//	        query ◀── Recent ── segments: files, oldest first ── too many: the oldest
//	                              │                              is dropped, and marked
//	                            Drain: a few rows at a time ──▶ store (journal)
//
// A segment is one file and one writer. It has a claim in each shard whose rows it
// holds, and its rows have their positions from the moment they are written. So a
// segment can be sent again after a crash, the same bytes under the same positions, and
// no record of the progress is needed. A segment that is dropped leaves no hole in the
// positions of another segment; readers would take a hole for the end.
//
// Claims are written when the store takes rows again. For each shard the drainer writes
// the claim, sends the rows in order and closes the claim, so that a sealer can seal the
// rows and drop the claim at once. Meanwhile shard journals send live rows under writer
// IDs of their own.
//
// # What could be lost or stored twice
//
// These orders of events were considered:
//
//   - A shard journal releases the samples of a row when the spool acknowledges it. The
//     spool first synchronizes the name of the file, then the file. Bytes that a power
//     failure leaves torn behind that point were never acknowledged; Open ignores them.
//   - After a failed write or fsync nobody knows which bytes are on the disk. The
//     segment takes no more rows, and the shard journal keeps the samples. They may be
//     stored twice, under two writer IDs; readers drop the duplicates.
//   - The row that a shard journal had under way when the store became unreachable may be
//     in the store, or may get there late. The shard journal never uses its position
//     again and puts its samples into the spool. Again readers drop the duplicates.
//   - A reader reads memory first, then the spool, then claims and journal, then blocks.
//     Samples move in that order only. A shard journal drops samples only after a reader
//     can find them in the spool, and a reader finds them in the spool until the store
//     has acknowledged row and claim. A file that vanishes under a reader was sent. So a
//     reader misses only samples that were dropped. An engine never reports spooled rows
//     as covered by its memory: once sent, they are read from the journal.
//   - An engine may give up a shard while rows of it wait. Then only the rows know which
//     PVs they hold, so a reader names the shards that the PV is, or has been, in.
//   - A claim counts only once the store has acknowledged it. Readers of the journal find
//     no row without a claim, so no row is sent before.
//   - If the process is killed while it sends, the next process sends the segment again
//     from its beginning. Rows that were sealed meanwhile stand before the sealed
//     position and are not read again.
//   - If the drainer is held up, for example because the store is unreachable once more,
//     another engine may take it for dead, seal the rows it finds and drop the claim. So
//     the drainer writes the claim again before the next row. The other engine may be
//     slow: it read the claim earlier and may drop it even after the drainer closed it.
//     A segment for which this is possible is therefore kept for a minute; then its
//     claims are written once more, and only then is it deleted.
//   - Two processes cannot use one directory. A process cannot use a file of another
//     archive, because each file holds the name of its archive.
//
// # Bounds
//
// The files take at most Config.Size, apart from damaged files that were set aside. The
// drainer holds a few rows in memory. Recent reads the rows of a PV's shard along the
// chain that links them, and returns at most 64 MiB of samples. If more samples wait, the
// reader gets an error and can request a shorter time. For each file the spool keeps a
// few words per shard in memory.
package spool
