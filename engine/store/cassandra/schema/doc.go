// Package schema administers the keyspace of an archive in Cassandra. It does the work
// of `varve schema`; engines only call Check on the result.
//
//	Create ── nodes agree? ──▶ one node ──▶ keyspace, tables, levels
//	Replicate ── ALTER KEYSPACE ±1 ──▶ nodes agree ──▶ settle ──▶ repair ──▶ noted
//	GrantRole ──▶ the user that engines and retrieval log in as
//	Finalize ── raises the format level
//	Check ◀── the format level and the tiers of the tables
//
// Several processes may call Create at the same time, and repeat it, because all its
// statements are idempotent. docs/design/replication.md explains why no reader misses a sample
// while Replicate runs.
package schema
