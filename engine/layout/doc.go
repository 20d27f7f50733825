// Package layout decides where samples stand in a store: in which bucket, in which block, and
// what the directory must list for it.
//
//	samples of a PV ─▶ bucket of a size, on a tier ─▶ blocks ─▶ directory entry ─▶ store
//
// It does no I/O, but for Entry.Refresh. Package seal writes blocks with it, package relocation
// rewrites them for another tier.
package layout
