// Package compat tests the promise of docs/compatibility.md: today's code reads and continues what each
// release has stored.
//
//	testdata/RELEASE ──▶ store of today's code ──▶ every sample, bins, marks ── as in expected.json
//	                          └ append, seal
//
// hack/golden makes testdata/RELEASE.
package compat
