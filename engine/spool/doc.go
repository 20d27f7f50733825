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
// holds, and its rows have their positions from the moment they are written. A segment
// can therefore be sent again after a crash, with the same bytes under the same
// positions, and the spool need not record its progress. Dropping a segment leaves no
// hole in the positions of another segment. Readers would take a hole for the end.
//
// The drainer writes claims when the store accepts rows again. For each shard it writes
// the claim, sends the rows in order and closes the claim, so that a sealer can seal the
// rows and drop the claim at once. Meanwhile shard journals send new rows under writer
// IDs of their own.
//
// # What could be lost or stored twice
//
// The spool handles these orders of events:
//
//   - A shard journal releases the samples of a row when the spool acknowledges it.
//     Before that, the spool synchronizes first the name of the file and then the file.
//     A power failure may leave incomplete bytes after that point. They were never
//     acknowledged, and Open ignores them.
//   - After a failed write or fsync it is unknown which bytes are on the disk. The
//     segment takes no more rows, and the shard journal keeps the samples. They may be
//     stored twice, under two writer IDs. Readers drop the duplicates.
//   - The row that a shard journal had under way when the store became unreachable may be
//     in the store, or may arrive there late. The shard journal never uses its position
//     again and puts its samples into the spool. Readers drop the duplicates here too.
//   - A reader reads memory first, then the spool, then claims and journal, then blocks.
//     Samples move only in that order. A shard journal drops samples only after a reader
//     can find them in the spool, and a reader finds them in the spool until the store
//     has acknowledged row and claim. If a file vanishes while a reader reads it, its
//     rows were sent or dropped. A reader therefore misses only samples that were
//     dropped. An engine never reports spooled rows as covered by its memory: once they
//     are sent, readers read them from the journal.
//   - An engine may give up a shard while rows of the shard wait. Only the rows then say
//     which PVs they hold. A reader therefore names all shards to which the PV belongs or
//     has belonged.
//   - A claim counts only once the store has acknowledged it. Readers of the journal find
//     no row without a claim, so the drainer sends no row before its claim.
//   - If the process is killed while it sends, the next process sends the segment again
//     from its beginning. Readers do not read again the rows that were sealed meanwhile,
//     because these rows are before the sealed position.
//   - If the drainer is delayed, for example because the store is unreachable once more,
//     another engine may take it for dead, seal the rows that it finds and drop the
//     claim. The drainer therefore writes the claim again before the next row. The other
//     engine may be slow: it may have read the claim earlier, and drop it even after the
//     drainer has closed it. If this is possible, the drainer keeps the segment for a
//     minute, then writes its claims once more, and only then deletes it.
//   - Two processes cannot use one directory. A process cannot use a file of another
//     archive, because each file has the name of its archive.
//
// # Bounds
//
// The files take at most Config.Size, apart from damaged files that were set aside. The
// drainer holds a few rows in memory. Recent reads the rows of a PV's shard along the
// chain that links them, and returns at most 64 MiB of samples. If more samples wait, the
// reader gets an error and can request a shorter time range. For each file the spool keeps
// a few words per shard in memory.
package spool
