// Package model compares archives with a model of one, under random operations.
//
//	seed ──▶ steps ──▶ engines: shardJournal, sealer ──▶ line ──▶ outside ──▶ Pebble, or Cassandra
//	  │                   │ memory          crash, outage              │
//	  │                   └──────────────┬──────────────────── readers ┘
//	  │                                  ▼
//	  └──────────────▶ model ──────▶ compare: samples, bins, counts, types; at the end engine/check
//
// Steps are what may happen to a shard: one or two engines capture samples, in order,
// late, of equal time, again, of another type; rows are flushed, and sent again;
// engines make checkpoints, seal and follow in turns, are cut off from the store, and
// go on when others have taken them for dead; they end in order, or at any write;
// retention changes, and what is stored moves; PVs are deleted; the store is opened
// again. The same seed does the same on each store.
//
// # The model
//
// It is a set of samples for each PV, with these rules:
//
//   - A sample is its type, time, alarm and value. One that is equal in all of them is a
//     double, and is there once. All others stay, also those of equal time.
//   - A sample that a shardJournal says is durable is there from then on, for all readers.
//   - One that is only in the memory of an engine is there for who asks that engine. If
//     the engine ends in order it is durable; if it crashes, the sample may be there or
//     not, but what a reader of the store finds then stays so.
//   - A deletion that has succeeded takes all samples that were durable before. What
//     another engine held of them it may show until it has looked at the claims.
//   - Retention here keeps all: what may expire is for the tests of package seal.
//
// Bins and counts must be those of the samples that a read gives at the same moment.
//
// # Time
//
// Engines, sealers and readers live in a bubble of synctest, where hours pass at once.
// Stores do not: they wait for a disk, or for a network. So each call of one is made by a
// goroutine outside of the bubble, and time in the bubble stands still meanwhile. The
// store is told the time of the bubble, which its timestamps are of.
package model
