package migration

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

// NotesFile is the name of the file with the notes.
const NotesFile = "not-imported.csv"

// Notes returns the notes of a source as a table.
func Notes(s *Source) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{"pv", "what", "reason"}}
	for _, n := range s.Notes {
		rows = append(rows, []string{n.PV, n.What, n.Reason})
	}
	err := w.WriteAll(rows)
	return b.Bytes(), err
}

// Changes are the names of the files that differ between a directory and an import.
type Changes struct{ Added, Changed, Removed []string }

// Empty reports whether nothing differs.
func (c *Changes) Empty() bool { return len(c.Added)+len(c.Changed)+len(c.Removed) == 0 }

// Compare compares files with a directory, which may not exist. Removed are the manifests of an earlier
// import that are no longer wanted. A manifest without the Marker was written by a person. If a file would
// replace such a manifest, Compare returns an error.
func Compare(dir string, files []File) (c Changes, err error) {
	wanted := map[string][]byte{}
	for _, f := range files {
		wanted[f.Name] = f.Text
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	for _, e := range entries {
		text, isWanted := wanted[e.Name()]
		ours, err := isOurs(filepath.Join(dir, e.Name()))
		switch {
		case err != nil:
			return c, err
		case !isWanted && ours:
			c.Removed = append(c.Removed, e.Name())
		case !isWanted:
			continue
		case !ours:
			return c, fmt.Errorf("%s was not made by an import, so the import does not replace it; move it to another directory", filepath.Join(dir, e.Name()))
		}
		if isWanted {
			has, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return c, err
			}
			if !bytes.Equal(has, text) {
				c.Changed = append(c.Changed, e.Name())
			}
			delete(wanted, e.Name())
		}
	}
	c.Added = slices.Sorted(maps.Keys(wanted))
	return c, nil
}

// isOurs reports whether an import has made a file.
func isOurs(path string) (bool, error) {
	if filepath.Base(path) == NotesFile {
		return true, nil
	}
	if !strings.HasSuffix(path, ".yaml") {
		return false, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	begin := make([]byte, len(Marker))
	if _, err := io.ReadFull(f, begin); err != nil {
		return false, nil // it is shorter, or a directory
	}
	return string(begin) == Marker, nil
}

// Write writes files to a directory and removes obsolete files of earlier imports. It leaves other files alone.
// It replaces each file atomically, adds new files first, and removes obsolete ones last.
func Write(dir string, files []File) (Changes, error) {
	c, err := Compare(dir, files)
	if err != nil {
		return c, err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return c, err
	}
	for _, names := range [][]string{c.Added, c.Changed} {
		for _, f := range files {
			if !slices.Contains(names, f.Name) {
				continue
			}
			if err := replace(filepath.Join(dir, f.Name), f.Text); err != nil {
				return c, err
			}
		}
	}
	for _, name := range c.Removed {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return c, err
		}
	}
	return c, nil
}

// replace writes a file atomically: a reader sees the old text or the new one.
func replace(path string, text []byte) error {
	return renameio.WriteFile(path, text, 0o640, renameio.WithTempDir(filepath.Dir(path)))
}
