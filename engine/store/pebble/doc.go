// Package pebble keeps an archive in a directory, in the embedded key-value store
// Pebble. It is for one process: standalone, or an engine that owns its disk.
//
//	Put… ─▶ batch of ordered keys ─▶ WAL, fsync ─▶ memtable ─▶ sorted files
//	           concurrent batches share an fsync       │
//	sequences ◀─ iterator over one prefix ◀────────────┘
//
// A write is durable when it returns. Keys and values are drawn in
// docs/format/pebble.md.
package pebble
