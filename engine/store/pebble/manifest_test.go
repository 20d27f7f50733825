package pebble

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	pebblerecord "github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// archiveOfFiles returns the files of an archive with several sorted files, the name of its manifest, and its entries.
func archiveOfFiles(t *testing.T) (files map[string][]byte, manifest string, entries map[string]string) {
	t.Helper()
	fs := vfs.NewMem()
	closeStore(t, openStore(t, fs))
	s := openStore(t, fs)
	for i := range 4 {
		b := store.Block{BlockKey: store.BlockKey{PV: fmt.Sprint("MAN:", i), Bucket: store.Day.Of(0)}, Type: sample.Float64, Count: 1, Blob: bytes.Repeat([]byte{byte(i)}, 200)}
		if err := s.PutBlocks(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	entries = entriesOf(t, s)
	closeStore(t, s)
	return readAll(t, fs), manifestOf(t, fs), entries
}

// manifestOf returns the name of the manifest of an archive.
func manifestOf(t *testing.T, fs vfs.FS) string {
	t.Helper()
	names, err := fs.List("")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, "MANIFEST-") })
	return slices.Max(names)
}

// opensWhole opens an archive, which must refuse, or have its entries. It reports whether it opens.
func opensWhole(t *testing.T, what string, fs vfs.FS, entries map[string]string) bool {
	t.Helper()
	s, err := openMemory(fs)
	if err != nil {
		return false
	}
	defer closeStore(t, s)
	if got := entriesOf(t, s); !maps.Equal(got, entries) {
		t.Errorf("%s: the archive opens with %d entries of %d", what, len(got), len(entries))
	}
	return true
}

// TestManifestWithDamagedBytes damages each byte of the manifest, in one bit and in all. The archive must not open
// without entries that it had, and must not delete their files.
func TestManifestWithDamagedBytes(t *testing.T) {
	files, manifest, entries := archiveOfFiles(t)
	text, refused := files[manifest], 0
	for at := range text {
		for _, mask := range []byte{0x10, 0xff} {
			damaged := bytes.Clone(text)
			damaged[at] ^= mask
			fs := diskWith(t, files, manifest, damaged)
			if opensWhole(t, fmt.Sprintf("byte %d of %d, %02x", at, len(text), mask), fs, entries) {
				continue
			}
			refused++
			for name := range files {
				if _, err := fs.Stat(name); err != nil && strings.HasSuffix(name, ".sst") {
					t.Fatalf("byte %d: %s is deleted", at, name)
				}
			}
		}
	}
	if refused < len(text) {
		t.Errorf("%d of %d damaged manifests are refused", refused, 2*len(text))
	}
}

// TestTheErrorOfADamagedManifestSaysWhatToDo damages the length of the last record but one, which Pebble takes for
// the end of the list.
func TestTheErrorOfADamagedManifestSaysWhatToDo(t *testing.T) {
	files, manifest, _ := archiveOfFiles(t)
	text := bytes.Clone(files[manifest])
	var records []int
	for at := 0; at < len(text); at += lengthOf(t, text, at) {
		records = append(records, at)
	}
	damaged := records[len(records)-2]
	text[damaged+4] ^= 0xff
	_, err := openMemory(diskWith(t, files, manifest, text))
	for _, part := range []string{manifest, fmt.Sprintf("at byte %d", damaged), "restore the directory from a snapshot"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, want one with %q", err, part)
		}
	}
}

// TestManifestCutByACrash appends a record that was never acknowledged, as a crash may leave it: a part of it, or with
// sectors that have not reached the disk. The archive must open with all entries.
func TestManifestCutByACrash(t *testing.T) {
	files, manifest, entries := archiveOfFiles(t)
	text := files[manifest]
	first, _ := chunkAt(text, 0)
	record := text[first : first+lengthOf(t, text, first)]
	for n := range record {
		if what := fmt.Sprintf("a record is cut after %d bytes", n); !opensWhole(t, what, diskWith(t, files, manifest, slices.Concat(text, record[:n])), entries) {
			t.Errorf("%s, and the archive does not open", what)
		}
	}
	whole := slices.Concat(text, chunkOf(bytes.Repeat([]byte{7}, 5*sector)))
	for from := (len(text)/sector + 1) * sector; from < len(whole); from += sector {
		one, all := bytes.Clone(whole), bytes.Clone(whole)
		clear(one[from:min(from+sector, len(one))])
		clear(all[from:])
		for what, text := range map[string][]byte{"the sector at byte %d is lost": one, "the sectors from byte %d on are lost": all} {
			if what := fmt.Sprintf(what, from); !opensWhole(t, what, diskWith(t, files, manifest, text), entries) {
				t.Errorf("%s, and the archive does not open", what)
			}
		}
	}
}

// TestALongRecordCutByACrash cuts a record that continues in the next block: only this second part has reached the disk.
func TestALongRecordCutByACrash(t *testing.T) {
	files, manifest, entries := archiveOfFiles(t)
	text := files[manifest]
	first := make([]byte, manifestBlock-len(text)%manifestBlock) // not on the disk
	last := chunkOf(bytes.Repeat([]byte{7}, sector))
	last[6] = 4
	binary.LittleEndian.PutUint32(last, sum(last[6:]))
	header := chunkOf(make([]byte, len(first)-chunkHeader))
	header[6] = 2
	for _, n := range []int{0, chunkHeader, min(2*sector, len(first)/2)} { // how much of the first part has reached it
		copy(first, header[:n])
		if what := fmt.Sprintf("%d bytes of the first part", n); !opensWhole(t, what, diskWith(t, files, manifest, slices.Concat(text, first, last)), entries) {
			t.Errorf("the archive does not open with %s", what)
		}
	}
}

func lengthOf(t *testing.T, text []byte, at int) int {
	t.Helper()
	n, valid := chunkAt(text, at)
	if !valid {
		t.Fatalf("there is no record at byte %d", at)
	}
	return n
}

// TestReadableTo checks that manifests of several blocks, which Pebble writes, are readable to their end, and that
// damage anywhere in them is found.
func TestReadableTo(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var b bytes.Buffer
		w := pebblerecord.NewWriter(&b)
		for b.Len() < 3*manifestBlock {
			data := bytes.Repeat([]byte{7}, 1+rng.IntN(3000))
			if rng.IntN(20) == 0 {
				data = bytes.Repeat(data, 30) // longer than a block
			}
			if _, err := w.WriteRecord(data); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		long := b.Bytes()
		if at := readableTo(long); at != len(long) {
			t.Fatalf("seed %d: a manifest of %d bytes is readable up to byte %d", seed, len(long), at)
		}
		for range 20 {
			at := rng.IntN(len(long))
			damaged := flipped(long, at)
			if to := readableTo(damaged); to < len(long) && (to > at || !isDamaged(damaged, to)) || to == len(long) && long[at] != 0 {
				t.Errorf("seed %d: a manifest that is damaged at byte %d is readable up to byte %d", seed, at, to)
			}
		}
	}
}

// chunkOf returns a chunk that is a whole record.
func chunkOf(data []byte) []byte {
	b := append(make([]byte, chunkHeader), data...)
	b[4], b[5], b[6] = byte(len(data)), byte(len(data)>>8), 1
	c := sum(b[6:])
	b[0], b[1], b[2], b[3] = byte(c), byte(c>>8), byte(c>>16), byte(c>>24)
	return b
}
