// Package through makes a reader read through to an older archive: an Archiver Appliance, a server
// of JSON archive access, or a Varve. The
// reader answers for times before this archive began to capture a PV with what the older one has, so that
// clients see one history from the first day on:
//
//	query.Reader ─▶ query.Through ─┬▶ Samples ─▶ upstream ──────────┐
//	                               ├▶ Outside ─▶ cache of PVs ───────┼▶ transport ─▶ the older archive
//	                               └▶ Names ───▶ list of names ──────┘    slots, time, tries,
//	                                                                      bytes, redirects, chain
//	request ─▶ Guard: chain ─▶ handlers
//
// The package bounds what the older archive can cost: requests at a time, their time, their bytes, and tries.
// What the older archive does not answer is an error, never a shorter answer. An answer that it does not know a
// PV counts only if it answers as an archive at the same time, so that a wrong address does not look like an
// archive without PVs.
//
// Each request says in a header which readers it came through. A reader that finds itself there, or too many others,
// refuses the request, so that archives that read through to each other do not ask for ever.
package through
