package spool

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"varve.dev/varve/engine/store"
)

// Sizes of the parts of a segment. docs/format/spool.md draws the bytes.
const (
	magic      = "varvespl"
	version    = 1
	fixedSize  = len(magic) + 1 + len(store.WriterID{}) + 8 + 2 // bytes of the header before the name of the archive
	maxArchive = 1 << 10                                        // bytes of that name
	maxHeader  = fixedSize + maxArchive + 4
	recordSize = 36 // bytes of the header of a record
	// maxBody is larger than any row: the largest blob and its index.
	maxBody   = store.MaxBlob + 12<<20
	maxShards = 1 << 16
)

var (
	// errCorrupt is returned for bytes that no spool has written.
	errCorrupt = errors.New("damaged spool file")
	// errShort is returned for an incomplete header.
	errShort = errors.New("the header of the spool file is incomplete")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// header is the header of a segment.
type header struct {
	version byte // 0 means the version of this program
	writer  store.WriterID
	created int64  // ns since 1970
	archive string // the archive whose samples the segment holds
}

func appendHeader(dst []byte, h *header) []byte {
	start := len(dst)
	dst = append(dst, magic...)
	dst = append(dst, cmp.Or(h.version, version))
	dst = append(dst, h.writer[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.created))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(h.archive)))
	dst = append(dst, h.archive...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// decodeHeader returns the header at the beginning of src, and its size.
func decodeHeader(src []byte) (h header, size int, err error) {
	if len(src) < fixedSize {
		return h, 0, errShort
	}
	if string(src[:len(magic)]) != magic {
		return h, 0, errCorrupt
	}
	rest := src[len(magic):]
	h.version = rest[0]
	rest = rest[1:]
	copy(h.writer[:], rest)
	rest = rest[len(h.writer):]
	h.created = int64(binary.LittleEndian.Uint64(rest))
	name := int(binary.LittleEndian.Uint16(rest[8:]))
	if name > maxArchive {
		return h, 0, errCorrupt
	}
	size = fixedSize + name + 4
	if len(src) < size {
		return h, 0, errShort
	}
	h.archive = string(src[fixedSize : fixedSize+name])
	if crc32.Checksum(src[:size-4], castagnoli) != binary.LittleEndian.Uint32(src[size-4:]) {
		return h, 0, errCorrupt
	}
	if h.version != version { // later versions keep the layout of the header
		return h, 0, fmt.Errorf("spool file has format version %d, which this program does not know", h.version)
	}
	return h, size, nil
}

// record is the header of a row. The row's index and blob follow it.
type record struct {
	at      store.Position
	prev    int64 // offset of the previous record of the shard; 0 if there is none
	shard   int
	samples int
	index   int    // bytes
	body    int    // bytes of index and blob
	sum     uint32 // of index and blob
}

// placed is a record and its offset.
type placed struct {
	record
	offset int64
}

// next returns the offset of the following record.
func (p *placed) next() int64 { return p.offset + recordSize + int64(p.body) }

func appendRecord(dst []byte, r *record) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for _, v := range [...]uint32{r.sum, uint32(r.body), uint32(r.index), uint32(r.shard), uint32(r.samples), uint32(r.prev)} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.at))
	binary.LittleEndian.PutUint32(dst[start:], crc32.Checksum(dst[start+4:], castagnoli))
	return dst
}

// decodeRecord decodes the header of the record at an offset.
func decodeRecord(src []byte, offset int64) (r record, err error) {
	if len(src) < recordSize || crc32.Checksum(src[4:recordSize], castagnoli) != binary.LittleEndian.Uint32(src) {
		return r, errCorrupt
	}
	var v [6]uint32
	for i := range v {
		v[i] = binary.LittleEndian.Uint32(src[4+4*i:])
	}
	r = record{
		sum: v[0], body: int(v[1]), index: int(v[2]), shard: int(v[3]), samples: int(v[4]), prev: int64(v[5]),
		at: store.Position(binary.LittleEndian.Uint64(src[28:])),
	}
	if v[1] > maxBody || r.index > r.body || v[3] >= maxShards || v[4] > math.MaxInt32 || r.prev >= offset || r.at.N() == 0 || r.at.Seq() == 0 {
		return record{}, errCorrupt
	}
	return r, nil
}

// row returns the row whose index and blob are in body.
func (r *record) row(body []byte, w store.WriterID) (store.JournalRow, error) {
	if len(body) != r.body || crc32.Checksum(body, castagnoli) != r.sum {
		return store.JournalRow{}, errCorrupt
	}
	return store.JournalRow{
		Shard: r.shard, Writer: w, At: r.at, Index: body[:r.index:r.index], Blob: body[r.index:],
	}, nil
}
