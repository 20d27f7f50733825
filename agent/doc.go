// Package agent drives the engine of its pod from the ArchiveShards that name
// it, and answers what it did:
//
//	ArchiveShards ─▶ mirror ─┐                                      ┌─▶ engine.Apply
//	channel lists ─▶ mirror ─┼─▶ duty.Decide, channels, stayers (pure) ─▶ state on disk
//	state on disk, at start ─┘                                      └─▶ status, on transitions
//	                                   engine ── statuses, who seals ─▶ report, over HTTP
//
// Absence never stops capture. What an engine captures ends only by an order to
// drain, given in the ArchiveShard, while another engine that is to capture says
// that it does; or by an ArchiveShard without lists. Missing objects, labels and
// lists, a deleted definition, an API server that is away or knows nothing: all
// that is reported, and capture goes on with what was known last, also over a
// restart of the container.
package agent
