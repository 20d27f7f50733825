package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Dir is a destination in a directory, such as a mounted volume. A file is written below tmp, synced and renamed, so that it is
// there as a whole or not at all.
type Dir struct{ path string }

var _ Destination = Dir{}

// NewDir returns the destination in a directory. It creates the directory at the first write.
func NewDir(path string) Dir { return Dir{filepath.Clean(path)} }

// String implements Destination.
func (d Dir) String() string { return d.path }

func (d Dir) file(name string) string { return filepath.Join(d.path, filepath.FromSlash(name)) }

// Put implements Destination.
func (d Dir) Put(ctx context.Context, name string, data []byte) error {
	return d.write(ctx, name, data, os.Rename)
}

// Create implements Destination. A link, unlike a rename, does not replace a file.
func (d Dir) Create(ctx context.Context, name string, data []byte) error {
	return d.write(ctx, name, data, func(from, to string) error { return errors.Join(os.Link(from, to), os.Remove(from)) })
}

func (d Dir) write(ctx context.Context, name string, data []byte, move func(from, to string) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := d.writeFile(d.file(name), data, move)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = fmt.Errorf("no space is left in %s; free some, and repeat the command: it continues with the packs that are complete: %w", d.path, err)
	}
	return err
}

func (d Dir) writeFile(path string, data []byte, move func(from, to string) error) (err error) {
	tmp := filepath.Join(d.path, "tmp")
	for _, dir := range []string{tmp, filepath.Dir(path)} {
		if err := makeDir(dir); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(tmp, "new-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = move(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return syncDir(filepath.Dir(path))
}

// makeDir creates a directory and those above it, durably.
func makeDir(path string) error {
	err := os.Mkdir(path, 0o750)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if err := makeDir(filepath.Dir(path)); err != nil {
			return err
		}
		return makeDir(path)
	case err != nil:
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Get implements Destination.
func (d Dir) Get(ctx context.Context, name string, most int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(d.file(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%s has %d bytes, more than the maximum of %d", f.Name(), info.Size(), most)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	return data, nil
}

// List implements Destination. The prefix / stands for all files, except those that are being written and those of the
// file system.
func (d Dir) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		err := filepath.WalkDir(d.file(strings.TrimSuffix(prefix, "/")), func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err := errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			if e.IsDir() {
				if prefix == "/" && (e.Name() == "tmp" || e.Name() == "lost+found") {
					return fs.SkipDir
				}
				return nil
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
				return nil
			}
			if err != nil {
				return err
			}
			name, err := filepath.Rel(d.path, path)
			if err != nil {
				return err
			}
			if !yield(Object{filepath.ToSlash(name), info.Size(), info.ModTime()}, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(Object{}, err)
		}
	}
}

// Remove implements Destination.
func (d Dir) Remove(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path := d.file(name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := syncDir(filepath.Dir(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
