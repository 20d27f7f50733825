// Package pebble keeps an archive in a directory, in the embedded key-value store Pebble. One
// process uses it: varve standalone, or an engine that owns its disk.
//
//	Put… ─▶ batch of ordered keys ─▶ WAL, fsync ─▶ memtable ─▶ sorted files
//	           concurrent batches share an fsync       │
//	sequences ◀─ iterator over one prefix ◀────────────┘
//
// A write is durable when it returns. docs/format/pebble.md shows the keys and values.
package pebble
