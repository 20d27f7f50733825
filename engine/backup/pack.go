package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/engine/checksum"
	"varve.dev/varve/engine/store"
)

// packHeader begins each pack. Its last byte is the version.
const packHeader = "varvepk\x01"

const (
	// maxRow is the maximum size of an encoded row: a blob of 20 MiB, the index of a journal row, and the key.
	maxRow = store.MaxBlob + 8<<20
	// frameBytes is the size of the length and the checksum around a row.
	frameBytes = 4 + checksum.Size
	// packBytes is the size at which a pack ends. A pack has at least a quarter of it, unless its group ends.
	packBytes = 32 << 20
	// maxPack is the maximum size of a pack: it exceeds packBytes by one row at most.
	maxPack = packBytes + maxRow + frameBytes
)

// errDamagedPack means that a pack is not as it was written.
var errDamagedPack = errors.New("the pack is damaged")

// appendFrame appends a row with its length and its checksum. key is the hash of the row's key.
func appendFrame(b []byte, row any) (out []byte, key uint64, err error) {
	from := len(b)
	b, n := appendRow(append(b, 0, 0, 0, 0), row)
	size := len(b) - from - 4
	if size > maxRow {
		return b[:from], 0, fmt.Errorf("a row of %d bytes is larger than the maximum of %d bytes", size, maxRow)
	}
	binary.BigEndian.PutUint32(b[from:], uint32(size))
	key = xxhash.Sum64(b[from+4 : from+4+n])
	return checksum.Append(b, from), key, nil
}

// rows yields the rows of a pack. Their blobs are slices of the pack.
func rows(pack []byte) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		rest, found := bytes.CutPrefix(pack, []byte(packHeader))
		if !found {
			yield(nil, fmt.Errorf("%w: it does not begin as a pack of version 1", errDamagedPack))
			return
		}
		for len(rest) > 0 {
			row, size, err := firstRow(rest)
			if err != nil {
				yield(nil, fmt.Errorf("%w: at byte %d: %w", errDamagedPack, len(pack)-len(rest), err))
				return
			}
			rest = rest[size:]
			if !yield(row, nil) {
				return
			}
		}
	}
}

// firstRow decodes the row at the beginning of b, and returns its size with length and checksum.
func firstRow(b []byte) (row any, size int, err error) {
	if len(b) < frameBytes {
		return nil, 0, errCorrupt
	}
	n := int64(binary.BigEndian.Uint32(b))
	if n > maxRow || n+frameBytes > int64(len(b)) {
		return nil, 0, fmt.Errorf("%w: its length is %d bytes", errCorrupt, n)
	}
	size = int(n) + frameBytes
	framed, err := checksum.Strip(b[:size])
	if err != nil {
		return nil, 0, err
	}
	row, _, err = decodeRow(framed[4:])
	return row, size, err
}

// kindOf returns the kind of a decoded row.
func kindOf(row any) kind {
	switch row.(type) {
	case *store.Claim:
		return kindClaim
	case *store.JournalRow:
		return kindJournal
	case *store.Channel:
		return kindChannel
	case *store.Block:
		return kindBlock
	case *store.Rollup:
		return kindRollup
	case *store.PVMark:
		return kindMark
	case *store.PVMetadata:
		return kindMetadata
	case *store.Cutoff:
		return kindCutoff
	}
	return kindProgress
}

// counts are the numbers of rows by the names of their kinds.
type counts map[string]int64

func (c counts) add(o counts) {
	for name, n := range o {
		c[name] += n
	}
}

// packer packs the rows of one group. One goroutine at a time may use it.
type packer struct {
	creator *creator
	group   Group
	buf     []byte
	rows    counts
}

func (c *creator) newPacker(g Group) *packer { return &packer{creator: c, group: g} }

// add adds a row. It writes a pack if the pack is full, or if it is large enough and the key of the row says that a
// pack ends here.
func (p *packer) add(ctx context.Context, row any) error {
	if len(p.buf) == 0 {
		p.buf, p.rows = append(p.buf, packHeader...), counts{}
	}
	before := len(p.buf)
	var key uint64
	var err error
	if p.buf, key, err = appendFrame(p.buf, row); err != nil {
		return err
	}
	p.rows[kindNames[kindOf(row)]]++
	most := p.creator.opts.packBytes
	if len(p.buf) >= most || len(p.buf) >= most/4 && key%8 == 0 {
		err = p.close(ctx)
	}
	return errors.Join(err, p.creator.spend(ctx, len(p.buf)-before))
}

// close writes the remaining rows.
func (p *packer) close(ctx context.Context) error {
	if len(p.buf) == 0 {
		return nil
	}
	sum := sha256.Sum256(p.buf)
	pack := Pack{SHA256: hex.EncodeToString(sum[:]), Group: p.group, Bytes: int64(len(p.buf)), Rows: p.rows}
	err := p.creator.put(ctx, pack, p.buf)
	p.buf, p.rows = p.buf[:0], nil
	return err
}

// readPack reads a pack and compares it with its entry in the manifest. It does not decode the rows.
func readPack(ctx context.Context, d Destination, p *Pack) ([]byte, error) {
	data, err := d.Get(ctx, p.object(), maxPack)
	if err != nil {
		return nil, fmt.Errorf("reading pack %s: %w", p.SHA256, err)
	}
	if int64(len(data)) != p.Bytes {
		return nil, fmt.Errorf("%w: %s has %d bytes instead of %d", errDamagedPack, p.object(), len(data), p.Bytes)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != p.SHA256 {
		return nil, fmt.Errorf("%w: the SHA-256 of %s differs from its name", errDamagedPack, p.object())
	}
	return data, nil
}
