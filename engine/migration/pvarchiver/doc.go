// Package pvarchiver reads the tables of a Cassandra PV Archiver, version 3:
//
//	channels ───────────────▶ Open ─▶ Source: channels by PV
//	                                     │ sample buckets of the level 0, by time
//	channel_access_samples ─▶ rows by time ─▶ decode ─▶ samples by type ─▶ migration.Sink
//	                                             └─▶ marks
//
// The layout is that of the appendices "CQL table layout" of the archiver's manual, from 3.0 to 3.2. Open compares
// the columns and the types that it reads with that layout, and refuses others. The archivers 1 and 2 stored column
// families through Thrift. Open refuses those, too.
//
// The package reads only raw samples, those of the decimation level 0, and writes nothing. The archiver may be running.
//
// Memory holds the names of the channels, and for each PV that is read a page of rows and a batch of its samples.
package pvarchiver
