// Package owners finds, in a retrieval pod, the engines that capture a PV, and
// asks them:
//
//	ArchiveShards ─┐
//	channel lists ─┼─ mirror ─▶ atlas: PV → shards → engines ─▶ engine/peer ─▶ engines
//	engine pods ───┘              ▲                                  │
//	                         query.Recent, native.Channels ◀─────────┘
//
// Of a PV that has changed its shard the journal of the one before is read, too: its
// lists are remembered until all that it journalled is in blocks.
//
// The atlas is never changed but replaced. It holds 8 bytes for each PV, and the
// compressed lists. What it does not know, as while the API server is away, costs
// nothing but time: samples of an engine that is not asked are read from the
// journal, which has them at most a second later.
package owners
