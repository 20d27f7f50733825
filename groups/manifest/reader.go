package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// maxFileSize is the maximum size of a file. A group of 1,000 channels with their own settings
// has about 200 KiB.
const maxFileSize = 64 << 20

// goneAfter is the number of consecutive reads in which a file must be missing before its
// groups are removed. Editors and git replace files in two steps.
const goneAfter = 2

// reader reads a path repeatedly, and remembers the last valid objects.
type reader struct {
	path  string
	files map[string]*file
}

// file is the last known content of a file.
type file struct {
	content []byte
	fresh   objects // valid now
	stale   objects // valid before; their document may be invalid now
	errs    []error
	missing int // consecutive reads in which the file was missing
}

func newReader(path string) *reader {
	return &reader{path: filepath.Clean(path), files: map[string]*file{}}
}

// read returns the current content of the files. If again is true, a file is missing but may
// come back, and the caller should read again soon.
func (r *reader) read() (result Result, again bool) {
	names, err := r.list()
	if err == nil {
		again = r.forgetMissing(names)
	}
	for _, name := range names {
		r.readFile(name)
	}
	result = r.merge()
	if err != nil {
		result.Errors = append([]error{err}, result.Errors...)
	}
	return result, again
}

// list returns the files to read. After an error the state of all files is unknown.
func (r *reader) list() ([]string, error) {
	info, err := os.Stat(r.path)
	if errors.Is(err, fs.ErrNotExist) && r.files[r.path] != nil {
		// The path was a single file. It is gone only if its directory can be read.
		_, listErr := os.ReadDir(filepath.Dir(r.path))
		if listErr == nil {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{r.path}, nil
	}
	entries, err := os.ReadDir(r.path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if isManifest(e.Name()) && !e.IsDir() {
			names = append(names, filepath.Join(r.path, e.Name()))
		}
	}
	return names, nil
}

// isManifest reports whether a file is a manifest. It excludes hidden names, such as temporary
// files of editors and the directories behind a mounted ConfigMap, and kustomization files.
func isManifest(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "kustomization.")
	}
	return false
}

// forgetMissing removes files that have been missing for goneAfter reads.
func (r *reader) forgetMissing(names []string) (again bool) {
	for name, f := range r.files {
		if slices.Contains(names, name) {
			f.missing = 0
			continue
		}
		if f.missing++; f.missing >= goneAfter {
			delete(r.files, name)
		} else {
			again = true
		}
	}
	return again
}

func (r *reader) readFile(name string) {
	f := r.files[name]
	if f == nil {
		f = &file{}
		r.files[name] = f
	}
	content, err := readBounded(name)
	if err != nil {
		f.keep(objects{}, []error{&Error{File: name, Err: err}})
		f.content = nil
		return
	}
	if f.content != nil && bytes.Equal(content, f.content) {
		return
	}
	f.content = content
	f.keep(parse(name, content))
}

func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) { // Error already contains the path
			return nil, fmt.Errorf("reading the file: %w", cause.Err)
		}
		return nil, err
	}
	defer f.Close()
	return ReadAll(f)
}

// keep stores the content of a file. If the file has errors, its previous objects that are
// missing now stay in effect: the invalid document may be theirs.
func (f *file) keep(fresh objects, errs []error) {
	var stale objects
	if len(errs) > 0 {
		stale = f.fresh.with(f.stale).stale(fresh)
	}
	f.fresh, f.stale, f.errs = fresh, stale, errs
}

// merge merges the objects of all files. If an object occurs twice, the first occurrence is
// used. Valid objects take precedence over stale ones.
func (r *reader) merge() Result {
	var result Result
	groups, configMaps := collector[*v1alpha1.ArchiveGroup]{}, collector[*corev1.ConfigMap]{}
	names := slices.Sorted(maps.Keys(r.files))
	for _, name := range names {
		f := r.files[name]
		result.Errors = append(result.Errors, f.errs...)
		result.Warnings = append(result.Warnings, f.warnings(name)...)
		for _, g := range f.fresh.groups {
			if other, twice := groups.add(g, name); twice {
				err := fmt.Errorf("namespace %q already has a group of this name in %s", g.Namespace, other)
				result.Errors = append(result.Errors, &Error{File: name, Group: g.Name, Err: err})
			}
		}
		for _, cm := range f.fresh.configMaps {
			if other, twice := configMaps.add(cm, name); twice {
				err := fmt.Errorf("namespace %q already has a ConfigMap %q in %s", cm.Namespace, cm.Name, other)
				result.Errors = append(result.Errors, &Error{File: name, Err: err})
			}
		}
	}
	for _, name := range names {
		for _, g := range r.files[name].stale.groups {
			if _, twice := groups.add(g, name); !twice {
				result.Stale = append(result.Stale, key(g))
			}
		}
		for _, cm := range r.files[name].stale.configMaps {
			configMaps.add(cm, name)
		}
	}
	for _, g := range groups.objects {
		result.Groups = append(result.Groups, *g)
	}
	result.Files = groups.where
	result.ConfigMaps = configMaps.objects
	return result
}

// collector collects objects of one kind, each name once.
type collector[T metav1.Object] struct {
	objects []T
	where   map[string]string // file, by key
}

// add adds an object. If one with the same name exists, add does not add it and returns the
// file of the other one.
func (c *collector[T]) add(obj T, file string) (other string, twice bool) {
	if other, twice = c.where[key(obj)]; twice {
		return other, true
	}
	if c.where == nil {
		c.where = map[string]string{}
	}
	c.where[key(obj)] = file
	c.objects = append(c.objects, obj)
	return "", false
}
