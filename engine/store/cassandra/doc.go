// Package cassandra keeps an archive in a keyspace of an Apache Cassandra cluster,
// version 5 or newer.
//
//	Open ── probe: reachable? datacenter? keyspace? version? ──▶ session
//	   │
//	   ├─ Put…, Seal ─▶ bytes in flight bounded ─▶ LOCAL_QUORUM, own timestamp ─▶ replicas
//	   └─ sequences ◀── pages of bounded size ◀── LOCAL_QUORUM ◀── replicas
//
// All statements are prepared, idempotent, and sent to a replica. If a statement fails, it
// is tried on another replica. After that its error is returned, within seconds, and the
// caller repeats it for as long as it likes. If a node is silent, other nodes get the request
// too. The driver reconnects by itself and follows nodes that join and leave.
//
// A blob of up to 512 KiB in the journal, and 128 KiB in a block, is stored in its row. A
// larger one is stored out of line, in parts of 512 KiB in a partition of their own:
//
//	PutJournal: parts ──▶ row with their size
//	PutBlocks:  note ──▶ parts, under a stamp ──▶ row with size and stamp ──▶ older stamps go
//
// Each step is acknowledged before the next, and parts are read after the row. So, because
// quorums overlap, a reader that sees a row sees all its parts. The comments of PutJournal and
// putOutOfLine describe what else may happen in between.
//
// Writes carry timestamps of a clock that strictly rises within the process, so of two
// writes of one row the later wins. A sealed position is its own timestamp, so the highest
// position wins, whichever writer wrote it and in whatever order. The timestamp of a rollup
// is its stamp.
//
// Each retention tier has tables of its own for blocks and rollups. All their rows expire,
// in about the order in which they were written, so Cassandra deletes whole files. See
// schema.tierOptions.
package cassandra
