// Package routing finds, in a retrieval pod, the engines that capture a PV, and
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
// journal, which has them at most a second later. It is not so when samples wait in an
// engine that the store did not take: the ArchiveShard says so, and a read that does not
// get them fails, so that its client asks again. Left are: the time until
// the ArchiveShard says so (some seconds, or as long as the API server is away); an engine
// that is lost, with what waits in it; and samples that came since then with an older time.
package routing
