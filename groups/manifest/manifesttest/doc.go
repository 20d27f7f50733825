// Package manifesttest has manifests for tests, with what an API server says about each. At least one of them breaks
// each rule of the CRDs:
//
//	Case ──┬─▶ groups/manifest, groups/validate ──▶ refused or not
//	       └─▶ a real API server ─────────────────▶ the same
package manifesttest

import "slices"

// Case is a manifest of one object.
type Case struct {
	Kind, Manifest string
	// Want is a part of the error. It is "" if the manifest is valid.
	Want string
	// ByOperator means that an API server accepts the object, and the operator reports the error.
	ByOperator bool
}

// All are all cases.
func All() []Case { return slices.Concat(Groups(), Malformed(), Archivers(), Policies(), Backups()) }
