// Package routing finds the engines that capture a PV, and queries them for a retrieval pod.
// It sits between the mirrored objects of the API server and the readers of the archive:
//
//	ArchiveShards ─┐
//	channel lists ─┼─ mirror ─▶ table: PV → shards → engines ─▶ engine/peer ─▶ engines
//	engine pods ───┘              ▲                                  │
//	                         query.Recent, native.Channels ◀─────────┘
//
// When a PV moves to another shard, readers also need the journal and the engines of its former shard. The
// spec of an ArchiveShard has the lists that the shard captured until recently, so that a pod that starts
// after the move knows them. The Router itself also remembers the lists that vanish from a shard, until all
// samples in the shard's journal are in blocks. These include lists whose PVs are no longer in any group.
//
// A table never changes; the Router replaces it. A table uses 8 bytes for each PV, plus the
// compressed lists. A table is outdated while the API server is down. This normally causes
// only a delay: if the Router does not query an engine, readers find its samples in the
// journal at most a second later. If the operator reaches the API server and this pod does not, a PV may
// move while the table still names its former engine. An engine that no longer captures a PV says so, and
// the Router then queries all engines.
//
// The exception is an engine that holds samples which the store has not accepted. The
// ArchiveShard names such an engine, and the time since which it holds such samples. A read that
// needs samples from after this time fails if the engine does not answer, so that the client
// retries. Three gaps remain: the time until the ArchiveShard names the engine (some seconds, or
// as long as the API server is down); an engine that is lost together with the samples it holds;
// and samples that the engine received after that time with a time stamp from before it.
package routing
