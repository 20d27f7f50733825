// Package names keeps what an archive knows of the names of PVs: their former names, and their aliases. A fact is a mark
// with the names of one PV, in a register that all processes share:
//
//	ArchiveGroups ──▶ engine.Apply ──▶ Writer ── a fact for each change ──▶ register, in the store
//	                                                                           │
//	query.Reader ◀── View ◀── Book ── reads the facts that are new ────────────┘
//
// The latest fact of a PV counts. While engines capture a PV, they keep its fact equal to its group. After that, the fact
// stays, so that its kept data can be read as before, until the data of the PV is deleted.
package names
