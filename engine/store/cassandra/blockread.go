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

// header is a block without its blob, which has size bytes.
type header struct {
	start  int64
	writer []byte
	n      int64
	end    int64
	size   int
}

// Blocks implements store.Store. It reads the headers of all blocks that may
// overlap the range, and then the blobs of those that do, in slices of bounded
// size: blobs are most of the bytes, and few of a bucket's may be wanted.
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
			`SELECT start, writer, n, end_time, size FROM block_forever
			WHERE pv = ? AND bucket = ? AND start >= ? AND start <= ? ORDER BY start `+order, pv, int64(b), from, to)
		for {
			var h header
			if !it.Scan(&h.start, &h.writer, &h.n, &h.end, &h.size) {
				break
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

// slice yields the blocks of a span.
func (s *Store) slice(ctx context.Context, pv string, b store.Bucket, sp span) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		it := s.query(ctx, "blocks", sliceRows,
			`SELECT start, writer, n, end_time, samples, kind, low, high, total, body FROM block_forever
			WHERE pv = ? AND bucket = ? AND (start, writer, n) >= (?, ?, ?) AND (start, writer, n) <= (?, ?, ?)`,
			pv, int64(b), sp.first.start, sp.first.writer, sp.first.n, sp.last.start, sp.last.writer, sp.last.n)
		for {
			var writer []byte
			var n int64
			var kind int
			blk := store.Block{BlockKey: store.BlockKey{PV: pv, Bucket: b}}
			if !it.Scan(&blk.Start, &writer, &n, &blk.End, &blk.Count, &kind, &blk.Min, &blk.Max, &blk.Sum, &blk.Blob) {
				break
			}
			copy(blk.Writer[:], writer)
			blk.N, blk.Type = uint32(n), sample.Type(kind)
			s.metrics.read.Add(float64(len(blk.Blob)))
			if !yield(blk, nil) {
				_ = it.Close() // the caller has what it wanted
				return
			}
		}
		if err := it.Close(); err != nil {
			yield(store.Block{}, fmt.Errorf("reading blocks of %s: %w", pv, err))
		}
	}
}
