// Package visible hides the PVs that the sender of a request may not read. It wraps what handlers read
// through, so that a hidden PV looks like one that never existed:
//
//	handler ─▶ query.Reader ─▶ visible ─┬▶ store.Store    a hidden PV: ask for a name that cannot exist
//	     └───▶ Channels ──────▶ visible ├▶ query.Recent   a list: leave hidden PVs out
//	                                    └▶ Channels
//
// The identity is in the context: see access.Request. Without one, all PVs are hidden.
package visible
