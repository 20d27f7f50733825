// Package names stores the former names and the aliases of PVs. A fact is a mark with the names of one PV, in a register
// that all processes of an archive share:
//
//	ArchiveGroups ──▶ engine.Apply ──▶ Writer ── a fact for each change ──▶ register, in the store
//	                                                                           │
//	query.Reader ◀── View ◀── Book ── reads the facts that are new ────────────┘
//
// The latest fact of a PV counts. While engines capture a PV, they keep its fact equal to the names in its group. After
// that, the fact stays until the data of the PV is deleted, so that reads of the PV return the same as before.
package names
