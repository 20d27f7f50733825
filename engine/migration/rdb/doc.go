// Package rdb reads the tables of an RDB archiver of CS-Studio or Phoebus in PostgreSQL, MySQL or MariaDB:
//
//	channel ────────────────▶ Open ─▶ Source: channels by PV
//	status, severity ───────▶ names of alarms, and of states such as Disconnected
//	num_metadata,
//	enum_metadata ──────────▶ metadata, labels
//	sample ─┐                    │
//	        ├▶ rows by time ─▶ decode ─▶ values by type ─▶ migration.Sink
//	array_val (old layout) ─┘       └─▶ marks
//
// The columns are those of services/archive-engine/dbd of Phoebus (postgres_schema.txt, MySQL.dbd), and the
// meaning of their values is that of its RDBArchiveWriter and of the reader in app/trends/archive-reader.
// Nothing is written, and no lock is taken that would stop a running archive engine.
//
// Memory holds the names of the channels, and for each PV that is read at most a batch of its samples.
package rdb
