// Package model runs random operations on a real archive and compares it with a simple model
// of an archive.
//
//	seed ──▶ steps ──▶ engines: shardJournal, sealer ──▶ line ──▶ outside ──▶ Pebble, or Cassandra
//	  │                   │ memory          crash, outage              │
//	  │                   └──────────────┬──────────────────── readers ┘
//	  │                                  ▼
//	  └──────────────▶ model ──────▶ compare: samples, bins, counts, types; at the end engine/check
//
// A step is an event in the life of a shard:
//
//   - Up to three engines capture samples: in order, late, with equal timestamps, repeated,
//     or of another type.
//   - Engines flush rows, and send rows again.
//   - Engines make checkpoints, and take turns as leader and follower. For most seeds, rollups are
//     corrected for late samples only after some time.
//   - Engines are cut off from the store, and continue after other engines have declared them
//     dead.
//   - Engines shut down in order, or crash at any write.
//   - Retention changes, and stored blocks migrate to another retention tier.
//   - PVs are deleted, and the store is closed and opened again.
//
// The same seed gives the same steps on each store.
//
// # The model
//
// The model is a set of samples for each PV, with these rules:
//
//   - A sample consists of its type, time, alarm and value. Samples that are equal in all
//     four are duplicates, and the archive shows one of them. It keeps all other samples,
//     even if their times are equal.
//   - When a shard journal reports a sample as durable, all readers see it from then on.
//   - If a sample is only in the memory of an engine, readers that query this engine see it.
//     If the engine shuts down in order, the sample becomes durable. If the engine crashes,
//     the sample may be stored or not. The first read of the store after the crash shows
//     which, and all later reads must agree.
//   - The result of a read has all samples that arrived before the time up to which it is
//     complete, even those in the memory of engines that the reader did not query.
//   - A successful deletion removes all samples that were durable before it. Another engine
//     may still show such samples from its memory until it has read the claims.
//   - Retention keeps all samples here. The tests of package seal cover expiry.
//
// Bins and counts must match the samples that a read returns at the same moment.
//
// # Time
//
// Engines, sealers and readers run in a synctest bubble, where hours pass at once. Stores
// cannot run there, because they wait for a disk or a network. A goroutine outside the bubble
// therefore makes each call to a store, and time in the bubble stands still during the call.
// If a store accepts a clock, it gets the time of the bubble for its timestamps.
package model
