// Package layout decides in which bucket and in which block of a store each sample is. It also
// decides what the directory must list for the sample.
//
//	samples of a PV ─▶ bucket of a size, on a tier ─▶ blocks ─▶ directory entry ─▶ store
//
// Only Entry.Refresh does I/O. Package seal uses layout to write blocks, and package relocation
// uses it to write them again for another tier.
package layout
