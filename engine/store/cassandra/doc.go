// Package cassandra keeps an archive in a keyspace of an Apache Cassandra cluster,
// version 5 or newer.
//
//	Open ── probe: reachable? datacenter? keyspace? version? ──▶ session
//	   │
//	   ├─ Put…, Seal ─▶ bytes in flight bounded ─▶ LOCAL_QUORUM, own timestamp ─▶ replicas
//	   └─ sequences ◀── pages of bounded size ◀── LOCAL_QUORUM ◀── replicas
//
// All statements are prepared, idempotent, and sent to a replica. One that fails
// is tried on another replica; after that its error is returned, within seconds,
// and the caller repeats it for as long as it likes. Where a node is silent, others are
// asked as well. Connections come back by themselves, and nodes that join and leave are
// followed.
//
// A blob of up to 512 KiB in the journal, and 128 KiB in a block, stands in its
// row. A larger one is cut into parts of 512 KiB in a partition of their own:
//
//	PutJournal: parts ──▶ row with their size
//	PutBlocks:  note ──▶ parts, under a stamp ──▶ row with size and stamp ──▶ older stamps go
//
// Each step is acknowledged before the next, so whoever sees a row sees all its
// parts, by the overlap of quorums: parts are read after the row. PutJournal and
// putOutOfLine say what else may happen in between.
//
// Writes carry timestamps of a clock that strictly rises within the process, so
// that of two writes of one row the later wins. A sealed position is its own
// timestamp: the highest wins, whoever wrote it and in whatever order; and a rollup's
// is its stamp.
//
// Blocks and rollups of each tier of the retention tiers have tables of their own,
// whose rows all expire, in about the order in which they were written: files go whole.
// schema.tierOptions says what that takes.
package cassandra
