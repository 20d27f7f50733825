// Package soak decides what happens in a soak test of an archive, and judges the answers of the
// archive. It is pure: test/e2e/elasticity injects the faults and reads the archive.
//
//	seed ──▶ Sequence ──▶ Event: which fault, when, how long     (exclusive faults; others)
//
//	IOC ──▶ Ledger: steps that were sent, with their times ──▶ Check: one answer during the test
//	archive ──▶ answers, marks ─────────────────────────┴──▶ Account ──▶ Verdict of one PV
//
// The PVs count steps, ten times a second. The ledger samples them every few seconds without
// the help of the archive. Between two entries of the ledger, every step was sent once.
package soak
