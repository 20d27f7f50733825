// Package cassandra keeps an archive in a keyspace of an Apache Cassandra cluster,
// version 5 or newer.
//
//	Open ── probe: reachable? datacenter? keyspace? version? ──▶ session
//	   │
//	   ├─ Put…, Seal ─▶ bytes in flight bounded ─▶ LOCAL_QUORUM, own timestamp ─▶ replicas
//	   └─ sequences ◀── pages of bounded size ◀── LOCAL_QUORUM ◀── replicas
//
// All statements are prepared, idempotent, and sent to a replica. If a statement fails, the
// driver tries it on another replica. If it still fails, the store returns the error within
// seconds, and the caller decides how often to repeat the statement. If a node is silent, the
// driver sends the request to other nodes too. The driver reconnects by itself and follows
// nodes that join and leave.
//
// A blob of up to 512 KiB in the journal, and 128 KiB in a block, is stored in its row. A
// larger one is stored out of line, in parts of 512 KiB in a partition of their own:
//
//	PutJournal: parts ──▶ row with their size
//	PutBlocks:  note ──▶ parts, under a stamp ──▶ row with size and stamp ──▶ older stamps go
//
// Each step is acknowledged before the next step begins, and readers read parts after the row.
// Because quorums overlap, a reader that sees a row therefore sees all its parts. The comments
// of PutJournal and putOutOfLine describe interrupted and concurrent operations.
//
// Writes carry timestamps by the clocks of the nodes, which strictly rise within the process. If a
// process writes a row twice, the later write therefore wins. A write after a deletion wins over
// it in whatever process, because no timestamp depends on the clock of a process. A sealed position is its own timestamp,
// so the highest position wins, regardless of the writer and the order of the writes. The
// timestamp of a rollup is its stamp.
//
// Each retention tier has tables of its own for blocks and rollups. All rows of such a table
// expire in about the order in which they were written, so Cassandra deletes whole files. See
// schema.tierOptions.
package cassandra
