package csvfile

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"varve.dev/varve/engine/migration"
	"varve.dev/varve/engine/pvname"
)

// Options configure Open.
type Options struct {
	Format Format
	// Want decides which PVs to import. It gets their canonical names. It may be nil, for all.
	Want func(pv string) bool
}

// Source is a file, or the files below a directory.
type Source struct {
	// Skipped are the files, and the rows without a PV, that are not imported.
	Skipped []migration.Skipped
	// Count is the number of parts of files, one for each PV of a file, and Size is their bytes.
	Count, Size int64

	format Format
	parts  map[string][]part // by canonical name of the PV
}

// part is where a file has the rows of a PV.
type part struct {
	path       string
	layout     layout
	pv         string // the canonical name, if the file has a column for it
	start, end int64  // bytes, of the text without compression. end is 0 if the whole file is of the PV
	line       int    // number of lines before start
	size       int64  // bytes of the file that the part takes
}

// Bounds.
const (
	// maxPVs is how many PVs the files may have.
	maxPVs = 4_000_000
	// maxRereads is how often a file may have to be read, on average of its bytes, to read it PV by PV.
	maxRereads = 64
)

// Open finds the PVs of a file, or of the files below a directory whose names end with .csv, .txt, .csv.gz or .txt.gz.
func Open(ctx context.Context, path string, opts Options) (*Source, error) {
	if err := opts.Format.Check(); err != nil {
		return nil, err
	}
	if opts.Want == nil {
		opts.Want = func(string) bool { return true }
	}
	s := &Source{format: opts.Format, parts: map[string][]part{}}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("looking for files: %w", err)
	}
	if !info.IsDir() {
		return s, s.file(ctx, path, info.Size(), opts.Want)
	}
	err = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return s.entry(ctx, p, e, err, opts.Want)
	})
	if err != nil {
		return nil, fmt.Errorf("looking for files: %w", err)
	}
	return s, nil
}

// entry adds what is in a directory.
func (s *Source) entry(ctx context.Context, path string, e fs.DirEntry, err error, want func(string) bool) error {
	switch {
	case err != nil:
		s.skip(path, err)
		return nil
	case e.IsDir():
		return nil
	}
	if _, ok := stem(path); !ok {
		s.skip(path, errors.New("the name does not end with .csv, .txt, .csv.gz or .txt.gz"))
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		s.skip(path, err)
		return nil
	case !info.Mode().IsRegular():
		s.skip(path, errors.New("it is not a regular file"))
		return nil
	}
	return s.file(ctx, path, info.Size(), want)
}

func (s *Source) skip(path string, err error) {
	var cause *fs.PathError // its text has the path again
	if errors.As(err, &cause) {
		err = cause.Err
	}
	s.Skipped = append(s.Skipped, migration.Skipped{Path: path, Reason: err.Error()})
}

// stem returns the name of a file without its extension.
func stem(path string) (name string, ok bool) {
	name = strings.TrimSuffix(filepath.Base(path), ".gz")
	for _, ext := range []string{".csv", ".txt"} {
		if cut, found := strings.CutSuffix(name, ext); found {
			return cut, true
		}
	}
	return name, false
}

// nameOf returns the PV whose name a file has. Characters that a file system does not have are written as in URLs.
func nameOf(path string) (string, error) {
	name, _ := stem(path)
	name, err := url.PathUnescape(name)
	if err != nil {
		return "", fmt.Errorf("the file has no column pv, and its name is not that of a PV: %w", err)
	}
	pv := pvname.Canonical(name)
	if err := pvname.Check(pv); err != nil {
		return "", fmt.Errorf("the file has no column pv, and its name is not that of a PV: %w", err)
	}
	return pv, nil
}

// file adds a file. It fails only if ctx ends, or if there are too many PVs.
func (s *Source) file(ctx context.Context, path string, size int64, want func(string) bool) error {
	in, err := openText(path)
	if err != nil {
		s.skip(path, err)
		return nil
	}
	defer in.Close()
	l := newLines(in)
	columns, err := s.format.readHeader(l)
	if err != nil {
		s.skip(path, err)
		return nil
	}
	if columns.at[columnPV] >= 0 {
		return s.scan(ctx, path, l, columns, want)
	}
	pv, err := nameOf(path)
	if err != nil {
		s.skip(path, err)
		return nil
	}
	if in.compressed() { // its checksum is at its end
		if _, err := io.Copy(io.Discard, l.in); err != nil {
			s.skip(path, fmt.Errorf("the compressed file cannot be read to its end: %w", err))
			return nil
		}
	}
	if want(pv) {
		s.add(pv, part{path: path, layout: columns}, size)
	}
	return s.bounded()
}

func (s *Source) add(pv string, p part, size int64) {
	p.size = size
	s.parts[pv] = append(s.parts[pv], p)
	s.Count++
	s.Size += size
}

func (s *Source) bounded() error {
	if len(s.parts) > maxPVs {
		return fmt.Errorf("the files have more than %d PVs: import a part of them at a time", maxPVs)
	}
	return nil
}

// PVs implements migration.Source.
func (s *Source) PVs() []string { return slices.Sorted(maps.Keys(s.parts)) }

// readHeader returns the layout of a file, and reads its header, if it has one.
func (f *Format) readHeader(l *lines) (layout, error) {
	if f.numbered() {
		return f.fixed()
	}
	for {
		line, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			return noColumns, errors.New("the file is empty")
		case err != nil:
			return noColumns, fmt.Errorf("reading the header: %w", err)
		case blank(line):
			continue
		}
		cells, err := split(nil, line, f.Separator)
		if err != nil {
			return noColumns, fmt.Errorf("reading the header: %w", err)
		}
		return f.ofHeader(cells)
	}
}

// text is the text of a file.
type text struct {
	io.Reader
	file *os.File
	gzip *gzip.Reader // nil if the file is not compressed
}

func (t *text) compressed() bool { return t.gzip != nil }

// Close implements io.Closer.
func (t *text) Close() error {
	if t.gzip != nil {
		return errors.Join(t.gzip.Close(), t.file.Close())
	}
	return t.file.Close()
}

// openText opens a file, and unpacks it if its name ends with .gz.
func openText(path string) (*text, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(path, ".gz") {
		return &text{Reader: f, file: f}, nil
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("unpacking: %w", err), f.Close())
	}
	return &text{Reader: z, file: f, gzip: z}, nil
}

// sorted orders the parts of a PV by path.
func sorted(parts []part) []part {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.path, b.path) })
	return parts
}
