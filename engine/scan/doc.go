// Package scan reads the blocks of a PV, and merges them by time with samples that are not
// sealed yet:
//
//	directory ─▶ buckets in use, by size and tier ─▶ blocks, read a little ahead ─┐
//	                                                                              ├─▶ merge ─▶ Feed
//	unsealed samples, if the caller has any ──────────────────────────────────────┘
//
// Two packages use scans. Package query, which serves reads, adds the samples in memory and in
// the journal. Package tiling computes rollups from blocks alone: see Scan.Feed.
//
// A scan also finds the last sample before its range. Each bucket begins with a carried-forward
// copy of the last sample before it, so a scan usually finds this sample in one bucket,
// regardless of its age.
package scan
