package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"varve.dev/varve/engine/store"
)

// segment is one file and its state. All its rows belong to one writer ID. Spool.mu
// guards it.
type segment struct {
	header
	n    uint64 // position among the segments
	path string
	ours bool  // written by this process
	size int64 // durable bytes, in order
	// skipped is true if damaged bytes between records were skipped. They may be rows of any shard.
	skipped bool
	chains  map[int]*chain
	// sending is true while a drainer sends the rows. drained is the time when the last row
	// was acknowledged, or zero.
	sending bool
	drained time.Time
	// retryAt is when the drainer reads the file again after it could not, or zero.
	retryAt time.Time
}

// chain is the rows of one shard in a segment. Each row has the offset of the previous row.
type chain struct {
	last    int64 // offset of the last row
	rows    int   // number of rows that the store has not acknowledged
	samples int   // in these rows
	sent    store.Position
	done    bool // all rows are acknowledged and the claim is closed
	// claim belongs to the drainer. claimed is the time when the drainer last tried to write
	// it, and stands is the time of the last write that was acknowledged. late is true if
	// another engine may have taken the writer for dead.
	claim   store.Claim
	claimed time.Duration // by the clock since boot; 0: never
	stands  time.Duration
	late    bool
}

const suffix = ".spool"

func fileName(n uint64) string { return fmt.Sprintf("%016x%s", n, suffix) }

// firstOffset returns the offset of the first record.
func (g *segment) firstOffset() int64 { return int64(fixedSize + len(g.archive) + 4) }

// add adds a row that is durable.
func (g *segment) add(r *placed) {
	c := g.chains[r.shard]
	if c == nil {
		c = &chain{}
		g.chains[r.shard] = c
	}
	c.last = r.offset
	c.rows++
	c.samples += r.samples
	g.size = r.next()
}

// waiting counts the rows and samples that the store has not acknowledged.
func (g *segment) waiting() (rows, samples int) {
	for _, c := range g.chains {
		rows += c.rows
		samples += c.samples
	}
	return rows, samples
}

// reader reads the records of a segment.
type reader struct {
	file   io.ReaderAt
	size   int64 // bytes that may be read
	writer store.WriterID

	ahead int64  // bytes read at once when all records are read; 0: only one header
	buf   []byte // bytes of the file from offset at
	at    int64
}

// readAhead is the value of ahead for a reader of all records.
const readAhead = 64 << 10

// record returns the record at an offset.
func (r *reader) record(offset int64) (rec placed, err error) {
	if offset < 0 || offset+recordSize > r.size {
		return rec, errCorrupt
	}
	if offset < r.at || offset+recordSize > r.at+int64(len(r.buf)) {
		n := int(min(max(r.ahead, recordSize), r.size-offset))
		r.buf = slices.Grow(r.buf[:0], n)[:n]
		if err := readAt(r.file, r.buf, offset); err != nil {
			r.buf = r.buf[:0]
			return rec, err
		}
		r.at = offset
	}
	rec.offset = offset
	rec.record, err = decodeRecord(r.buf[offset-r.at:], offset)
	if err == nil && rec.next() > r.size {
		err = errCorrupt
	}
	return rec, err
}

// row returns the row of a record in newly allocated memory.
func (r *reader) row(rec *placed) (store.JournalRow, error) {
	body := make([]byte, rec.body)
	if err := readAt(r.file, body, rec.offset+recordSize); err != nil {
		return store.JournalRow{}, err
	}
	return rec.row(body, r.writer)
}

// index returns the index of the row of a record.
func (r *reader) index(rec *placed) ([]byte, error) {
	index := make([]byte, rec.index)
	return index, readAt(r.file, index, rec.offset+recordSize)
}

// next returns the first record at or after an offset. It skips damaged bytes, and returns
// errCorrupt if no record follows them. After damaged bytes a record counts only if its body is
// whole, too.
func (r *reader) next(offset int64) (rec placed, err error) {
	rec, err = r.record(offset)
	for at := offset + 1; errors.Is(err, errCorrupt) && at+recordSize <= r.size; at++ {
		if rec, err = r.record(at); err == nil {
			_, err = r.row(&rec)
		}
	}
	return rec, err
}

// chain returns the offsets of the records that back yields, the last one first. If it meets a
// damaged record, it searches the file for the records before that one, and also returns errCorrupt.
func (r *reader) chain(shard int, last int64, after store.Position) (offsets []int64, err error) {
	for rec, err := range r.back(last, after) {
		if errors.Is(err, errCorrupt) {
			before := last
			if n := len(offsets); n > 0 {
				before = offsets[n-1]
			}
			found, failed := r.search(shard, before, after)
			return append(offsets, found...), cmp.Or(failed, err)
		}
		if err != nil {
			return offsets, err
		}
		offsets = append(offsets, rec.offset)
	}
	return offsets, nil
}

// search returns the offsets of the records of a shard before an offset, and after a position, the
// last one first.
func (r *reader) search(shard int, before int64, after store.Position) (offsets []int64, err error) {
	r.ahead = readAhead
	for rec, err := r.next(0); ; rec, err = r.next(rec.next()) {
		switch {
		case errors.Is(err, errCorrupt) || err == nil && rec.offset >= before:
			slices.Reverse(offsets)
			return offsets, nil
		case err != nil:
			return nil, err
		}
		if rec.shard == shard && rec.at > after {
			offsets = append(offsets, rec.offset)
		}
	}
}

// back yields the records of a chain, the last first: from the record at offset last back to
// the first record after the position after. It ends after its first error.
func (r *reader) back(last int64, after store.Position) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		shard := -1
		for at := last; at > 0; {
			rec, err := r.record(at)
			if err == nil && shard >= 0 && rec.shard != shard {
				err = errCorrupt
			}
			if err == nil && rec.at <= after || !yield(rec, err) || err != nil {
				return
			}
			at, shard = rec.prev, rec.shard
		}
	}
}

func readAt(f io.ReaderAt, dst []byte, offset int64) error {
	n, err := f.ReadAt(dst, offset)
	if n == len(dst) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// with opens the file of a segment and calls f with a reader of it.
func (g *segment) with(fs vfs.FS, size int64, f func(*reader) error) error {
	file, err := fs.Open(g.path)
	if err != nil {
		return &fileError{err}
	}
	defer file.Close()
	return f(&reader{file: file, size: size, writer: g.writer})
}
