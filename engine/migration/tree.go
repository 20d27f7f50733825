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
)

// File is a file of samples.
type File struct {
	Path string
	Name pbfile.FileName
}

// Skipped is a file, or a part of it, that is not imported.
type Skipped struct {
	Path   string
	Offset int64
	Reason string
}

// Tree is the files of an appliance, by PV.
type Tree struct {
	Files   map[string][]File
	Skipped []Skipped
}

// Scan finds the files of samples below a directory: of one store of the Archiver Appliance, or of
// the directory that has all of its stores. It reads the first line of each file, which has the name
// of the PV. Only PVs that want accepts are in the tree.
func Scan(ctx context.Context, dir string, want func(pv string) bool) (*Tree, error) {
	t := &Tree{Files: map[string][]File{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		t.add(path, want)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for files: %w", err)
	}
	for _, files := range t.Files {
		slices.SortFunc(files, func(a, b File) int {
			return cmp.Or(cmp.Compare(a.Name.Partition.Start, b.Name.Partition.Start), cmp.Compare(a.Path, b.Path))
		})
	}
	return t, nil
}

func (t *Tree) add(path string, want func(pv string) bool) {
	name, err := pbfile.ParseName(filepath.ToSlash(path))
	if err != nil {
		t.skip(path, err)
		return
	}
	h, err := readHeader(path)
	switch {
	case err != nil:
		t.skip(path, err)
	case !name.Matches(h.PV):
		t.skip(path, fmt.Errorf("the header names the PV %s, whose files have other names", h.PV))
	case want(h.PV):
		t.Files[h.PV] = append(t.Files[h.PV], File{path, name})
	}
}

func (t *Tree) skip(path string, err error) {
	t.Skipped = append(t.Skipped, Skipped{Path: path, Reason: err.Error()})
}

func readHeader(path string) (h pbfile.Header, err error) {
	f, err := os.Open(path)
	if err != nil {
		return h, err
	}
	defer f.Close()
	return pbfile.NewReader(f).Header()
}
