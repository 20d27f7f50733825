// Package appliance imports the samples of an Archiver Appliance, or of a Varve, over HTTP:
//
//	list of names, or names given ─▶ Open ─▶ Source: PVs
//	                                            │
//	                         the first sample of a PV ─▶ ranges of months
//	                                                         │ one request each
//	          retries, from the last good sample on ◀── upstream.Appliance.Exact ─▶ pending ─▶ migration.Sink
//
// The reader trusts nothing that the server sends: see upstream. If it refuses an answer, it reports the range from the last
// good sample to the end of the request as not imported. If the server does not answer, the PV is incomplete. After some
// such PVs in a row, the reader does not request the others.
//
// Memory holds the names of the PVs, and for each PV that is read at most a batch of its samples.
package appliance
