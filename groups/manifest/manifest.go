// Package manifest reads ArchiveGroups from YAML files, with the checks that a
// cluster makes, and the ConfigMaps that they take names from. It watches the
// files for changes.
//
//	directory ──list──▶ files ──split──▶ documents ──check──▶ objects ──merge──▶ Result
//	    ▲                 │ errors          │ errors     │ errors     │ errors      │
//	    └── fsnotify,     └─────────────────┴────────────┴────────────┴────────────▶┘
//	        and a look now and then
//
// Documents are checked by the schema and the CEL rules of the CRD itself, so
// that a wrong manifest gets the same message with and without a cluster.
//
// Absence never stops capture: while a file can not be read or is wrong, and
// while the directory can not be listed, the groups read before stay.
package manifest

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"varve.dev/varve/api/v1alpha1"
)

// Result is what the files of a path say.
type Result struct {
	// Groups are the valid groups, ordered by file and place in it, and then
	// the stale ones. Results share them: do not change them.
	Groups []v1alpha1.ArchiveGroup
	// ConfigMaps are the valid ConfigMaps, in the same order. Results share them.
	ConfigMaps []*corev1.ConfigMap
	// Stale names the groups (namespace/name) that are what they were before
	// their file went wrong.
	Stale []string
	// Errors are all that is wrong, in the same order; most are of type *Error.
	Errors []error
}

// Err joins the errors, one per line; nil if there are none.
func (r Result) Err() error { return errors.Join(r.Errors...) }

// Equal reports whether two results say the same.
func (r Result) Equal(o Result) bool {
	return equality.Semantic.DeepEqual(r.Groups, o.Groups) &&
		equality.Semantic.DeepEqual(r.ConfigMaps, o.ConfigMaps) &&
		slices.Equal(r.Stale, o.Stale) &&
		slices.EqualFunc(r.Errors, o.Errors, func(a, b error) bool { return a.Error() == b.Error() })
}

// Error is something wrong at a place in a file.
type Error struct {
	File  string
	Line  int    // from 1; 0 if unknown
	Group string // name of the ArchiveGroup; empty if unknown
	Err   error
}

// Error returns "file:line: ArchiveGroup "name": what is wrong".
func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, e.Line)
	}
	if e.Group != "" {
		s = fmt.Sprintf("%s: %s %q", s, v1alpha1.KindArchiveGroup, e.Group)
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Load reads a file, or the *.yaml, *.yml and *.json files of a directory (not
// of those below it). It returns all valid objects, and all errors beside them.
func Load(path string) Result {
	result, _ := newReader(path).read()
	return result
}
