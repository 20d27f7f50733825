// Package cassandra keeps an archive in a keyspace of an Apache Cassandra cluster,
// version 5 or newer.
//
//	CreateSchema ── probe ──▶ keyspace, tables, version      (one process, once)
//	Open ── probe: reachable? datacenter? keyspace? version? ──▶ session
//	   │
//	   ├─ Put…, Seal ─▶ bytes in flight bounded ─▶ LOCAL_QUORUM, own timestamp ─▶ replicas
//	   └─ sequences ◀── pages of bounded size ◀── LOCAL_QUORUM ◀── replicas
//
// All statements are prepared, idempotent, and sent to a replica. One that fails
// is tried on another replica; after that its error is returned, within seconds,
// and the caller repeats it for as long as it likes. Connections come back by
// themselves.
//
// Writes carry timestamps of a clock that strictly rises within the process, so
// that of two writes of one row the later wins. A sealed position is its own
// timestamp: the highest wins, whoever wrote it and in whatever order.
package cassandra
