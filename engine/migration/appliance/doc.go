// Package appliance imports the samples of an Archiver Appliance, or of a Varve, over HTTP:
//
//	list of names, or names given ─▶ Open ─▶ Source: PVs
//	                                            │
//	                         the first sample of a PV ─▶ ranges of months
//	                                                         │ one request each
//	          retries, from the last good sample on ◀── upstream.Appliance.Exact ─▶ pending ─▶ migration.Sink
//
// Nothing that the server sends is trusted: see upstream. If an answer is refused, the range from the last good sample to
// the end of the request is reported as not imported. If the server does not answer, the PV is incomplete, and after
// some such PVs, the others are not asked for.
//
// Memory holds the names of the PVs, and for each PV that is read at most a batch of its samples.
package appliance
