package spool

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// spoolFile is a segment with its bytes, and where each of its rows begins and ends.
type spoolFile struct {
	name string
	text []byte
	rows []spoolRow
}

// spoolRow is a row with the values from first (inclusive) to last (exclusive) of the PV of a shard.
type spoolRow struct{ shard, first, last, begin, end int }

// writeSpoolFile makes a real spool write rows of two shards to a segment, with values from a first
// one on.
func writeSpoolFile(t *testing.T, from int) (f spoolFile) {
	t.Helper()
	fs := vfs.NewMem()
	b := start(t, config(fs))
	for i := range 6 {
		shard, first := i%2, from+10*i
		b.put(newRow(shard, first, first+10, pvOf(shard)))
		name := files(t, fs)[0]
		begin := f.end()
		f.name, f.text = name, read(t, fs, name)
		if i == 0 {
			_, begin, _ = decodeHeader(f.text)
		}
		f.rows = append(f.rows, spoolRow{shard, first, first + 10, begin, len(f.text)})
	}
	b.stop()
	return f
}

func (f *spoolFile) end() int { return len(f.text) }

// values returns the values of a shard in the rows for which keep is true.
func (f *spoolFile) values(shard int, keep func(r *spoolRow) bool) (out []int) {
	for i := range f.rows {
		if r := &f.rows[i]; r.shard == shard && keep(r) {
			out = append(out, count(r.first, r.last)...)
		}
	}
	return out
}

func read(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	file, err := fs.Open("spool/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// disk returns a disk with a spool that has segments with the given bytes.
func disk(t *testing.T, texts ...[]byte) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("spool", 0o755); err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		file, err := fs.Create("spool/"+fileName(uint64(i+1)), vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(bytes.Clone(text)); err != nil { // Write may change its argument
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return fs
}

// sent opens the spool of a disk, takes a new row, sends everything, and returns the values of two
// shards that were stored, and how many losses were reported. A file that stays is renamed.
func sent(t *testing.T, fs vfs.FS) (values [2][]int, losses int, left []string) {
	t.Helper()
	b, to := start(t, config(fs)), newArchive()
	b.put(newRow(0, 1000, 1010, pvOf(0)))
	defer b.drain(to)()
	advance(5 * time.Minute)
	for shard := range values {
		values[shard] = to.words(t, shard, pvOf(shard))
	}
	b.stop()
	return values, len(to.damaged), files(t, fs)
}

// TestSpoolCutAtEachByte opens a spool whose file was cut at each byte. Every row before the cut is
// sent, the row that is cut is not, and new rows are taken and sent.
func TestSpoolCutAtEachByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := writeSpoolFile(t, 0)
		for cut := range len(f.text) + 1 {
			values, losses, left := sent(t, disk(t, f.text[:cut]))
			for shard := range values {
				want := f.values(shard, func(r *spoolRow) bool { return r.end <= cut })
				if shard == 0 {
					want = append(want, count(1000, 1010)...)
				}
				if !slices.Equal(values[shard], want) {
					t.Errorf("cut at %d of %d: shard %d has %v, want %v", cut, len(f.text), shard, values[shard], want)
				}
			}
			if len(left) > 0 || losses > 0 {
				t.Errorf("cut at %d: files %v are left, and %d losses are reported", cut, left, losses)
			}
		}
	})
}

// TestSpoolWhoseEndIsNotOnDisk opens a spool whose last row has its length, but not its bytes, as after a power cut before the
// row was synchronized. The row was never acknowledged, so it is absent and no loss. All rows before it are sent.
func TestSpoolWhoseEndIsNotOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := writeSpoolFile(t, 0)
		last := f.rows[len(f.rows)-1]
		for at := last.begin + recordSize; at < last.end; at++ {
			text := bytes.Clone(f.text)
			clear(text[at:])
			if bytes.Equal(text, f.text) {
				continue // the row ends with a zero
			}
			values, losses, left := sent(t, disk(t, text))
			for shard := range values {
				want := f.values(shard, func(r *spoolRow) bool { return r.end <= last.begin })
				if shard == 0 {
					want = append(want, count(1000, 1010)...)
				}
				if !slices.Equal(values[shard], want) {
					t.Errorf("zeros from byte %d of %d: shard %d has %v, want %v", at, len(f.text), shard, values[shard], want)
				}
			}
			if len(left) > 0 || losses > 0 {
				t.Errorf("zeros from byte %d: files %v are left, and %d losses are reported", at, left, losses)
			}
		}
	})
}

// TestSpoolWithEachByteFlipped opens a spool whose older file has one damaged byte. At most the row
// with this byte is missing, and then a loss is reported. If the header of the file is damaged, the
// file stays under another name. The other file and new rows are sent.
func TestSpoolWithEachByteFlipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, later := writeSpoolFile(t, 0), writeSpoolFile(t, 100)
		for at := range f.text {
			text := bytes.Clone(f.text)
			text[at] ^= 0x10
			values, losses, left := sent(t, disk(t, text, later.text))
			inHeader := at < f.rows[0].begin
			missing := false
			for shard := range values {
				whole := func(r *spoolRow) bool { return !inHeader && (at < r.begin || at >= r.end) }
				want := slices.Concat(f.values(shard, whole), later.values(shard, func(*spoolRow) bool { return true }))
				if shard == 0 {
					want = append(want, count(1000, 1010)...)
				}
				slices.Sort(values[shard])
				if !slices.Equal(values[shard], want) {
					t.Errorf("byte %d: shard %d has %v, want %v", at, shard, values[shard], want)
				}
				missing = missing || len(f.values(shard, whole)) < len(f.values(shard, func(*spoolRow) bool { return true }))
			}
			if named := []string{fileName(1) + ".damaged"}; inHeader && !slices.Equal(left, named) || !inHeader && len(left) > 0 {
				t.Errorf("byte %d: files %v are left", at, left)
			}
			if missing && !inHeader && losses == 0 {
				t.Errorf("byte %d: rows are missing, and no loss is reported", at)
			}
		}
	})
}
