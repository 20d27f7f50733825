// Package migration stores the samples of another archive in this one:
//
//	directory ─▶ Scan ─▶ Tree: files by PV ─▶ pbfile.Reader ─┐
//	others ────▶ Open of rdb, pvarchiver, appliance, csvfile ┴─▶ Sink: batches of samples, marks, metadata
//	                                                                           │
//	                          times to import, deletion cutoff, rate ─────▶ filter
//	                                                                           │
//	                        samples that the archive has ◀── query.Reader ── compare ─▶ Verify: digests by month
//	                                                                           │ others
//	                                         Report ◀── seal.Importer ◀────────┘
//
// The archive is a set of samples, so an import can be interrupted at any moment and repeated: a
// sample that the archive has is not stored again. A batch is durable before the next one is read.
// Memory holds the names of the PVs and the files, and a batch for each PV that is being imported.
//
// The archive must have no other writer meanwhile: see seal.Importer.
package migration
