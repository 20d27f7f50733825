package pebble

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The manifest lists the sorted files of an archive. Pebble takes the first record that it cannot read for the
// end of the list, because a crash may have cut the last record. It then deletes the sorted files that only later
// records name. So a few damaged bytes would remove samples without a word. checkManifest tells a record that a
// crash has cut, which was never acknowledged, from a damaged one:
//
//	record │ record │ …            the end of the file: cut by a crash
//	record │ record │ …00000000    zeros, or a sector of zeros: the crash came before the bytes were on disk
//	record │ …damaged… │ record    a later record can be read: damaged
//	record │ …damaged…             the record is whole, but its checksum is wrong: damaged
//
// docs/format/pebble.md has the form of a record.

const (
	// A manifest consists of blocks of this length. A chunk does not cross the end of a block.
	manifestBlock = 32 << 10
	// A chunk begins with a checksum, the length of its data, and its type: 1 to 4.
	chunkHeader  = 7
	maxChunkType = 4
	// sector is the shortest part of a file that reaches a disk as a whole.
	sector = 512
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openDB opens Pebble, unless its manifest is damaged.
func openDB(dir string, opts *pebble.Options) (*pebble.DB, error) {
	fs := opts.FS
	if fs == nil {
		fs = vfs.Default
	}
	if err := checkManifest(fs, dir); err != nil {
		return nil, err
	}
	return pebble.Open(dir, opts)
}

// checkManifest returns an error if the manifest of an archive is damaged.
func checkManifest(fs vfs.FS, dir string) error {
	desc, err := pebble.Peek(dir, fs)
	if err != nil || !desc.Exists {
		return err
	}
	f, err := fs.Open(desc.ManifestFilename)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("reading %s: %w", desc.ManifestFilename, err)
	}
	if at := readableTo(b); isDamaged(b, at) {
		name := filepath.Base(desc.ManifestFilename)
		return fmt.Errorf("%s, which lists the files of the archive, is damaged at byte %d; opening the archive would delete the files that it lists after that; "+
			"restore the directory from a snapshot, and keep a copy of this one: its files still have the samples", name, at)
	}
	return nil
}

// readableTo returns the offset of the first chunk of a manifest that is not valid.
func readableTo(b []byte) (at int) {
	for at < len(b) {
		if left := manifestBlock - at%manifestBlock; left < chunkHeader {
			at += left
			continue
		}
		n, valid := chunkAt(b, at)
		if !valid {
			return at
		}
		at += n
	}
	return len(b)
}

// chunkAt returns the length of a chunk, and whether it is valid.
func chunkAt(b []byte, at int) (n int, valid bool) {
	n, fits := lengthAt(b, at)
	if !fits || at+n > len(b) || b[at+6] == 0 || b[at+6] > maxChunkType {
		return n, false
	}
	return n, sum(b[at+6:at+n]) == binary.LittleEndian.Uint32(b[at:])
}

// lengthAt returns the length of a chunk by its header. fits is false if no chunk may have this length.
func lengthAt(b []byte, at int) (n int, fits bool) {
	left := manifestBlock - at%manifestBlock
	if left < chunkHeader || at+chunkHeader > len(b) {
		return 0, false
	}
	n = chunkHeader + int(binary.LittleEndian.Uint16(b[at+4:]))
	return n, n <= left
}

// sum returns the checksum of a chunk, from its type on.
func sum(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// isDamaged reports whether the chunk at an offset, which is not valid, is damaged, rather than cut by a crash.
func isDamaged(b []byte, at int) bool {
	rest := b[at:]
	if len(rest) < chunkHeader || isZero(rest) {
		return false
	}
	if hasRecordAfter(b, at) {
		return true
	}
	n, fits := lengthAt(b, at)
	switch {
	case !fits:
		return !hasNoData(b, at, at+chunkHeader)
	case at+n > len(b): // cut, unless only its length is wrong
		return sum(rest[6:]) == binary.LittleEndian.Uint32(rest)
	}
	return !hasNoData(b, at, at+n)
}

// hasRecordAfter reports whether a record begins after an offset, in a valid chunk. In the same block it may begin at
// any byte, and each other block begins with a chunk. Chunks that continue a record do not count: they may
// belong to the record at the offset, whose beginning a crash kept from the disk.
func hasRecordAfter(b []byte, at int) bool {
	next := (at/manifestBlock + 1) * manifestBlock
	for i := at + 1; i < min(next, len(b)); i++ {
		if _, valid := chunkAt(b, i); valid && beginsRecord(b[i+6]) {
			return true
		}
	}
	for ; next < len(b); next += manifestBlock {
		for i := next; i < min(next+manifestBlock, len(b)); {
			n, valid := chunkAt(b, i)
			if !valid {
				break
			}
			if beginsRecord(b[i+6]) {
				return true
			}
			i += n
		}
	}
	return false
}

// beginsRecord reports whether a chunk of a type is the first or the only one of a record. The types 1 to 4 are full,
// first, middle and last; the next ones repeat them in other formats.
func beginsRecord(kind byte) bool { return (kind-1)%4 < 2 }

// hasNoData reports whether a part of a sector between two offsets consists of zeros: the sector has not reached
// the disk.
func hasNoData(b []byte, from, to int) bool {
	for from < to {
		end := min(to, from+sector-from%sector)
		if isZero(b[from:end]) {
			return true
		}
		from = end
	}
	return false
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
