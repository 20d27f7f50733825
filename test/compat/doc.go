// Package compat tests the promise of docs/compatibility.md: today's code reads and continues what each
// release has stored, and the release can still read it before the archive is finalized.
//
//	testdata/RELEASE ──▶ store of today's code ──▶ every sample, bins, marks ── as in expected.json
//	                          │ append, seal
//	                          ▼
//	                     program of the release ──▶ every sample
//
// An archive is in a directory, or in a keyspace of Cassandra. hack/golden makes testdata/RELEASE.
package compat
