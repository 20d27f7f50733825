package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"varve.dev/varve/engine/pbfile"
	"varve.dev/varve/engine/pvname"
)

// File is a file of samples.
type File struct {
	Path string
	Name pbfile.FileName
	// Size is the size in bytes when the file was found.
	Size int64
}

// Skipped is a file or a directory that is not imported.
type Skipped struct {
	Path   string
	Reason string
}

// Tree is the files of an appliance.
type Tree struct {
	// Files are the files by canonical name of the PV: X and X.VAL are the same PV.
	Files map[string][]File
	// Count and Size are the number of the files, and their bytes.
	Count, Size int64
	// Skipped are the files that are not imported, and the directories that cannot be read.
	Skipped []Skipped
}

// Scan finds the files of samples below a directory: of one store of the Archiver Appliance, or of
// the directory that has all of its stores. It reads the first line of each file, which has the name
// of the PV. Only PVs that want accepts are in the tree; want gets their canonical names.
//
// Scan follows symbolic links, and reads each directory once, even if links lead to it, too. What it
// cannot read is in Tree.Skipped. It fails only if it cannot read dir itself, or if ctx ends.
func Scan(ctx context.Context, dir string, want func(pv string) bool) (*Tree, error) {
	s := &scanner{Tree: &Tree{Files: map[string][]File{}}, want: want, visited: map[string]bool{}}
	if _, err := os.ReadDir(dir); err != nil {
		return nil, fmt.Errorf("looking for files: %w", err)
	}
	// Directories come before the links to them, so that a file is found under the path of its store.
	for s.links = []string{dir}; len(s.links) > 0; s.links = s.links[1:] {
		if err := s.follow(ctx, s.links[0]); err != nil {
			return nil, fmt.Errorf("looking for files: %w", err)
		}
	}
	for _, files := range s.Files {
		slices.SortFunc(files, func(a, b File) int {
			return cmp.Or(cmp.Compare(a.Name.Partition.Start, b.Name.Partition.Start), cmp.Compare(a.Path, b.Path))
		})
	}
	return s.Tree, nil
}

// scanner builds a tree.
type scanner struct {
	*Tree
	want    func(pv string) bool
	visited map[string]bool // directories that were read, without links in their paths
	links   []string        // links to directories that are not read yet
}

// follow reads the directory to which a link leads.
func (s *scanner) follow(ctx context.Context, link string) error {
	resolved, err := filepath.EvalSymlinks(link)
	if err == nil {
		resolved, err = filepath.Abs(resolved)
	}
	if err != nil {
		s.skip(link, err)
		return nil
	}
	return s.directory(ctx, link, resolved)
}

// directory reads a directory and everything below it. resolved is its path without links.
func (s *scanner) directory(ctx context.Context, path, resolved string) error {
	if s.visited[resolved] {
		return nil
	}
	s.visited[resolved] = true
	entries, err := os.ReadDir(path)
	if err != nil {
		s.skip(path, err)
	}
	for _, e := range entries { // those that were read before an error, too
		if err := ctx.Err(); err != nil {
			return err
		}
		p := filepath.Join(path, e.Name())
		switch info, err := os.Stat(p); {
		case e.IsDir():
			if err := s.directory(ctx, p, filepath.Join(resolved, e.Name())); err != nil {
				return err
			}
		case err != nil:
			s.skip(p, err)
		case info.IsDir():
			s.links = append(s.links, p)
		default:
			s.file(p, info)
		}
	}
	return nil
}

// file adds a file.
func (s *scanner) file(path string, info fs.FileInfo) {
	name, err := pbfile.ParseName(filepath.ToSlash(path))
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		s.skip(path, err)
		return
	}
	h, err := readHeader(path)
	pv := pvname.Canonical(h.PV)
	switch {
	case err != nil:
		s.skip(path, err)
	case !name.Matches(h.PV):
		s.skip(path, fmt.Errorf("the header names the PV %s, whose files have other names", h.PV))
	case s.want(pv):
		s.Files[pv] = append(s.Files[pv], File{path, name, info.Size()})
		s.Count++
		s.Size += info.Size()
	}
}

func (s *scanner) skip(path string, err error) {
	var cause *fs.PathError // its text has the path again
	if errors.As(err, &cause) {
		err = cause.Err
	}
	s.Skipped = append(s.Skipped, Skipped{Path: path, Reason: err.Error()})
}

func readHeader(path string) (h pbfile.Header, err error) {
	f, err := os.Open(path)
	if err != nil {
		return h, err
	}
	defer f.Close()
	return pbfile.NewReader(f).Header()
}
