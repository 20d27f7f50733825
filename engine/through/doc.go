// Package through makes a reader read through to an older archive: an Archiver Appliance, a server of JSON archive
// access, or a Varve. For times before this archive began to capture a PV, the reader also returns the samples of
// the older archive. Clients see one history from the first day on:
//
//	query.Reader ─▶ query.Through ─┬▶ Samples ─▶ upstream ──────────┐
//	                               ├▶ Outside ─▶ cache of PVs ───────┼▶ transport ─▶ the older archive
//	                               └▶ Names ───▶ list of names ──────┘    breaker, slots, time, tries,
//	                                             read again behind        bytes, redirects, chain
//	request ─▶ Guard: chain ─▶ handlers
//
// The package bounds what the older archive can cost: requests at a time, their time, their bytes, and tries.
// If the older archive does not answer, the read fails: it never returns fewer samples instead. After a timeout or a refused
// connection, reads that need the older archive fail at once for some seconds. If the older archive
// answers that it does not know a PV, the package checks that there is an archive at the address, so that a wrong
// address does not look like an archive without PVs.
//
// Each request lists in a header the readers that it came through. A reader refuses a request whose header has its own
// ID, or too many IDs, so that archives that read through to each other do not request samples forever. The header never
// makes an answer shorter: a request is refused, or answered from both archives.
package through
