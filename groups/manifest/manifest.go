// Package manifest reads ArchiveGroups from YAML files, and the ConfigMaps that they take
// names from. It applies the same checks as a cluster, and watches the files for changes. It
// feeds the standalone archiver and varve retention plan:
//
//	directory ──list──▶ files ──split──▶ documents ──check──▶ objects ──merge──▶ Result
//	    ▲                 │ errors          │ errors     │ errors     │ errors      │
//	    └── fsnotify,     └─────────────────┴────────────┴────────────┴────────────▶┘
//	        periodic reads
//
// The schema and the CEL rules of the CRD itself check the documents, so an invalid manifest
// gets the same message with and without a cluster.
//
// A missing file never stops capture at once. While a file is unreadable or invalid, and while
// the directory cannot be listed, the groups that were read last stay in effect.
package manifest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"varve.dev/varve/api/v1alpha1"
)

// Result is the content of the files of a path.
type Result struct {
	// Groups are the valid groups, in the order of files and documents, followed by the stale
	// groups. Results share them: do not change them.
	Groups []v1alpha1.ArchiveGroup
	// ConfigMaps are the valid ConfigMaps, in the same order. Results share them.
	ConfigMaps []*corev1.ConfigMap
	// Files has the file of each group, by namespace/name.
	Files map[string]string
	// Stale are the names (namespace/name) of groups whose file has become invalid. They
	// keep their last valid content.
	Stale []string
	// Errors are all errors, in the same order. Most are of type *Error.
	Errors []error
	// Warnings are what is valid but probably not meant, such as a group without channels.
	Warnings []string
}

// Err joins the errors, one per line. It returns nil if there are none.
func (r Result) Err() error { return errors.Join(r.Errors...) }

// Equal reports whether two results are equal.
func (r Result) Equal(o Result) bool {
	return equality.Semantic.DeepEqual(r.Groups, o.Groups) &&
		equality.Semantic.DeepEqual(r.ConfigMaps, o.ConfigMaps) &&
		maps.Equal(r.Files, o.Files) &&
		slices.Equal(r.Stale, o.Stale) &&
		slices.Equal(r.Warnings, o.Warnings) &&
		slices.EqualFunc(r.Errors, o.Errors, func(a, b error) bool { return a.Error() == b.Error() })
}

// Error is an error at a place in a file.
type Error struct {
	File string
	Line int // line number from 1; 0 if unknown
	// Column is the column from 1; 0 if unknown. The text of the error does not have it.
	Column int
	Group  string // name of the ArchiveGroup; empty if unknown
	Err    error
}

// Error returns "file:line: ArchiveGroup "name": cause".
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

// Field returns the path of the wrong field, such as spec.channels[3].sampling, or "" if the error is
// not about one field.
func (e *Error) Field() string { return fieldOf(e.Err) }

// Load reads a file, or the *.yaml, *.yml and *.json files of a directory (not of its
// subdirectories). It returns all valid objects together with all errors.
func Load(path string) Result {
	result, _ := newReader(path).read()
	return result
}

// Parse reads the documents of a text. name stands for the name of its file in messages.
func Parse(name string, text []byte) Result {
	f := &file{}
	if len(text) > maxFileSize {
		f.errs = []error{&Error{File: name, Err: fmt.Errorf("the text is larger than %d MiB", maxFileSize>>20)}}
	} else {
		f.keep(parse(name, text))
	}
	r := &reader{files: map[string]*file{name: f}}
	return r.merge()
}
