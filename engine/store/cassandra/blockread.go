package cassandra

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Limits of what a read of blocks holds in memory.
const (
	headerPage = 1000 // of a range
	lastPage   = 100  // going back from a time: mostly the first is it
	sliceBytes = 4 << 20
	sliceRows  = 256
)

// header is a block without its blob, which has size bytes in the block's row.
type header struct {
	start  int64
	writer []byte
	n      int64
	end    int64
	size   int // 0 if the blob stands apart
}

// Blocks implements store.Store. It reads the headers of all blocks that may
// overlap the range, and then the blobs of those that do, in slices of bounded
// size: blobs are most of the bytes, and few of a bucket's may be wanted. Blobs that
// stand apart are read one by one, as they are asked for.
func (s *Store) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		reach, err := s.reach(ctx, pv, b)
		if err != nil || reach < 0 {
			if err != nil {
				yield(store.Block{}, err)
			}
			return
		}
		want := func(end int64) bool { return end >= from }
		for slice, err := range spans(s.headers(ctx, pv, b, back(from, reach), to, "ASC", headerPage), want) {
			if err != nil {
				yield(store.Block{}, err)
				return
			}
			for blk, err := range s.slice(ctx, pv, b, slice) {
				if err == nil && !want(blk.End) {
					continue // it was not there when the headers were read
				}
				if !yield(blk, err) || err != nil {
					return
				}
			}
		}
	}
}

// LastBlock implements store.Store. It goes back from the latest start for as
// long as an earlier block could reach further.
func (s *Store) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (blk store.Block, found bool, err error) {
	reach, err := s.reach(ctx, pv, b)
	if err != nil || reach < 0 {
		return blk, false, err
	}
	var last header
	for h, err := range s.headers(ctx, pv, b, math.MinInt64, at, "DESC", lastPage) {
		if err != nil {
			return blk, false, err
		}
		if found && back(last.end, reach) > h.start {
			break
		}
		if !found || h.end > last.end {
			last, found = h, true
		}
	}
	if !found {
		return blk, false, nil
	}
	for blk, err := range s.slice(ctx, pv, b, span{first: last, last: last, rows: 1}) {
		return blk, err == nil, err
	}
	return blk, false, nil
}

// back returns t - by, or the least number if that is less.
func back(t, by int64) int64 {
	if t < math.MinInt64+by {
		return math.MinInt64
	}
	return t - by
}

// reach returns the longest time from start to end of a block in a bucket; -1 if
// it holds no block.
func (s *Store) reach(ctx context.Context, pv string, b store.Bucket) (int64, error) {
	var reach int64
	err := s.session.Query("SELECT reach FROM block_forever WHERE pv = ? AND bucket = ? LIMIT 1", pv, int64(b)).
		ScanContext(withOperation(ctx, "block_reach"), &reach)
	switch {
	case errors.Is(err, gocql.ErrNotFound):
		return -1, nil
	case err != nil:
		return 0, fmt.Errorf("reading blocks of %s: %w", pv, err)
	}
	return reach, nil
}

// headers yields the blocks that start in [from, to], in order of start, which is
// ASC or DESC.
func (s *Store) headers(ctx context.Context, pv string, b store.Bucket, from, to int64, order string, page int) iter.Seq2[header, error] {
	return func(yield func(header, error) bool) {
		it := s.query(ctx, "block_headers", page,
			`SELECT start, writer, n, end_time, size, stamp FROM block_forever
			WHERE pv = ? AND bucket = ? AND start >= ? AND start <= ? ORDER BY start `+order, pv, int64(b), from, to)
		for {
			var h header
			var stamp int64
			if !it.Scan(&h.start, &h.writer, &h.n, &h.end, &h.size, &stamp) {
				break
			}
			if isApart(h.size, stamp) {
				h.size = 0
			}
			if !yield(h, nil) {
				_ = it.Close() // the caller has what it wanted
				return
			}
		}
		if err := it.Close(); err != nil {
			yield(header{}, fmt.Errorf("reading blocks of %s: %w", pv, err))
		}
	}
}

// span is a run of blocks that follow each other in their partition.
type span struct {
	first, last header
	rows, bytes int
}

// spans gathers the wanted ones of headers, in order, into spans of bounded size
// that hold no others.
func spans(headers iter.Seq2[header, error], want func(end int64) bool) iter.Seq2[span, error] {
	return func(yield func(span, error) bool) {
		var sp span
		for h, err := range headers {
			if err != nil {
				yield(span{}, err)
				return
			}
			wanted := want(h.end)
			full := sp.rows == sliceRows || sp.bytes+h.size > sliceBytes
			if sp.rows > 0 && (!wanted || full) {
				if !yield(sp, nil) {
					return
				}
				sp = span{}
			}
			if !wanted {
				continue
			}
			if sp.rows == 0 {
				sp.first = h
			}
			sp.last, sp.rows, sp.bytes = h, sp.rows+1, sp.bytes+h.size
		}
		if sp.rows > 0 {
			yield(sp, nil)
		}
	}
}

// isApart reports whether a blob stands in parts. A block that was apart and is so
// no more, as it was written again, keeps its stamp.
func isApart(size int, stamp int64) bool { return size > blockInline && stamp != 0 }

const blockColumns = `SELECT start, writer, n, end_time, samples, kind, low, high, total, size, stamp, body
	FROM block_forever WHERE pv = ? AND bucket = ? AND `

// row is a block as its row has it.
type row struct {
	store.Block
	size  int
	stamp int64
}

// scanRow scans the next of the blockColumns.
func scanRow(it *gocql.Iter, r *row) bool {
	var writer []byte
	var n int64
	var kind int
	if !it.Scan(&r.Start, &writer, &n, &r.End, &r.Count, &kind, &r.Min, &r.Max, &r.Sum, &r.size, &r.stamp, &r.Blob) {
		return false
	}
	copy(r.Writer[:], writer)
	r.N, r.Type = uint32(n), sample.Type(kind)
	return true
}

// slice yields the blocks of a span.
func (s *Store) slice(ctx context.Context, pv string, b store.Bucket, sp span) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		it := s.query(ctx, "blocks", sliceRows, blockColumns+"(start, writer, n) >= (?, ?, ?) AND (start, writer, n) <= (?, ?, ?)",
			pv, int64(b), sp.first.start, sp.first.writer, sp.first.n, sp.last.start, sp.last.writer, sp.last.n)
		var err error
		for {
			r := row{Block: store.Block{BlockKey: store.BlockKey{PV: pv, Bucket: b}}}
			if !scanRow(it, &r) {
				break
			}
			there := true
			if isApart(r.size, r.stamp) {
				if there, err = s.gather(ctx, &r); err != nil {
					break
				}
			}
			s.metrics.read.Add(float64(len(r.Blob)))
			if there && !yield(r.Block, nil) {
				_ = it.Close() // the caller has what it wanted
				return
			}
		}
		if closed := it.Close(); err == nil {
			err = closed
		}
		if err != nil {
			yield(store.Block{}, fmt.Errorf("reading blocks of %s: %w", pv, err))
		}
	}
}

// gatherTries bounds how often a block is read again because it changed meanwhile.
const gatherTries = 10

// gather reads the blob of a row from its parts. If they are not those that the
// row speaks of, the block was written again since the row was read, or it was
// deleted, and there is false.
func (s *Store) gather(ctx context.Context, r *row) (there bool, err error) {
	for range gatherTries {
		if r.Blob, err = s.getParts(ctx, blockParts(&r.BlockKey, r.stamp), r.size); !errors.Is(err, errTorn) {
			return err == nil, err
		}
		torn, stamp := err, r.stamp
		it := s.query(ctx, "blocks", 1, blockColumns+"start = ? AND writer = ? AND n = ?", blockKey(&r.BlockKey)...)
		there = scanRow(it, r)
		switch err = it.Close(); {
		case err != nil || !there || !isApart(r.size, r.stamp):
			return there, err
		case r.stamp == stamp:
			return false, torn
		}
	}
	return false, err
}
