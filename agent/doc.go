// Package agent drives the engine of an engine pod. It turns the ArchiveShards that name
// the engine into assignments, and writes the result into their status:
//
//	ArchiveShards ─▶ mirror ─┐                                      ┌─▶ engine.Apply
//	channel lists ─▶ mirror ─┼─▶ handover.Decide, channel lists (pure) ─▶ state on disk
//	state on disk, at start ─┘                                      └─▶ status, on transitions
//	spec.deletions, spec.erasures ─▶ engine.Delete, engine.Erase ──────▶ status
//	                                   engine ── statuses, sealing ──▶ report, over HTTP
//
// A missing object never stops capture. An engine stops capturing a shard only if the
// ArchiveShard orders it to drain and another engine, which has the order to capture,
// reports that it captures; or if the ArchiveShard has no lists. The agent reports missing
// objects, labels and lists, a deleted CRD, and an API server that is unreachable or empty.
// Meanwhile capture continues with the last known assignment, also after a restart of the
// container.
package agent
