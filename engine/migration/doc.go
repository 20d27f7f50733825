// Package migration stores the samples of another archive in this one:
//
//	directory ─▶ Scan ─▶ Tree: files by PV ─▶ pbfile.Reader ─┐
//	others ────▶ Open of rdb, pvarchiver, appliance, csvfile ┴─▶ Sink: batches of samples, marks, metadata
//	                                                                           │
//	                          times to import, deletion cutoff, rate ─────▶ filter
//	                                                                           │
//	                        samples that the archive has ◀── query.Reader ── compare ─▶ Verify: digests by month
//	                                                                           │ others
//	                                         Report ◀── seal.Importer ◀────────┤ archive without engines
//	                         Report ◀── an engine seals ◀── segment ◀── queue ◀────────┘ archive with engines
//
// The archive is a set of samples, so an import can be interrupted at any moment and repeated: a
// sample that the archive has is not stored again. Memory holds the names of the PVs and the files, a
// batch for each PV that is being imported, and a row of the journal for each shard.
//
// Without Options.Engines, the archive must have no other writer meanwhile: see seal.Importer. With it, the importer
// writes to the journal, and the engines seal its rows: see docs/design/import.md.
package migration
