package pebble

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"varve.dev/varve/engine/store"
)

func openStore(t *testing.T, fs vfs.FS) *Store {
	t.Helper()
	s, err := openMemory(fs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeStore(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// entriesOf returns all keys of an archive, with their values.
func entriesOf(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for e, err := range scan(t.Context(), s.db, nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		all[string(e.key)] = string(e.value)
	}
	return all
}

// lastOf returns the name of the latest file with a suffix.
func lastOf(t *testing.T, fs vfs.FS, suffix string) string {
	t.Helper()
	names, err := fs.List("")
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasSuffix(n, suffix) })
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	return slices.Max(names)
}

func read(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// readAll returns the contents of all files by name.
func readAll(t *testing.T, fs vfs.FS) map[string][]byte {
	t.Helper()
	names, err := fs.List("")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, n := range names {
		files[n] = read(t, fs, n)
	}
	return files
}

// flipped returns bytes of which one is damaged.
func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 0x10
	return b
}

// diskWith returns a disk with files, one of which has other contents.
func diskWith(t *testing.T, files map[string][]byte, name string, text []byte) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	for n, b := range files {
		if n == name {
			b = text
		}
		f, err := fs.Create(n, vfs.WriteCategoryUnspecified)
		if err == nil && len(b) > 0 {
			_, err = f.Write(bytes.Clone(b)) // Write may change its argument
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return fs
}

// expect opens the archive on a disk and checks its entries. It accepts another row then, which is there when the
// archive is opened once more.
func expect(t *testing.T, what string, fs vfs.FS, want map[string]string) {
	t.Helper()
	for opened := range 2 {
		s, err := openMemory(fs)
		if err != nil {
			t.Errorf("%s: opening the archive: %v", what, err)
			return
		}
		got := entriesOf(t, s)
		if opened == 0 {
			err = s.PutJournal(t.Context(), store.JournalRow{Shard: 9, At: 1})
		}
		closeStore(t, s)
		if err != nil {
			t.Errorf("%s: writing to the archive: %v", what, err)
		}
		if opened == 1 {
			want = maps.Clone(want)
			want[string(journalKey(9, store.WriterID{}, 1))] = "\x00"
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: the archive has %d entries, want %d\ngot  %q\nwant %q", what, len(got), len(want), slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
			return
		}
	}
}
