package cassandra

import (
	"context"
	"errors"
	"fmt"
	"iter"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const blockColumns = `SELECT start, writer, n, end_time, samples, kind, low, high, total, size, stamp, body
	FROM block_@ WHERE pv = ? AND bucket = ? AND `

var (
	readSpan  = onTiers(blockColumns + "(start, writer, n) >= (?, ?, ?) AND (start, writer, n) <= (?, ?, ?)")
	readBlock = onTiers(blockColumns + "start = ? AND writer = ? AND n = ?")
	readRange = onTiers(blockColumns + "start >= ? AND start <= ?")
	readLast  = onTiers(blockColumns + "start <= ? ORDER BY start DESC LIMIT 1")
)

// page holds the rows of consecutive blocks.
type page struct {
	rows []row
	next []byte // paging state of the next page; empty if there is none
	err  error
}

// page reads a page of the blocks that start in [from, to]: the first page, or the page after
// the previous one.
func (s *Store) page(ctx context.Context, pv string, b store.Bucket, from, to int64, rows int, next []byte) page {
	it := s.statement(readRange[b.Tier()], pv, int64(b), from, to).PageSize(rows).PageState(next).
		IterContext(withOperation(ctx, "blocks"))
	return scanPage(it, pv, b)
}

// latest reads the block with the latest start at or before a time.
func (s *Store) latest(ctx context.Context, pv string, b store.Bucket, at int64) page {
	return scanPage(s.query(ctx, "blocks", 1, readLast[b.Tier()], pv, int64(b), at), pv, b)
}

func scanPage(it *gocql.Iter, pv string, b store.Bucket) (p page) {
	p.rows, p.next = make([]row, 0, it.NumRows()), it.PageState()
	for {
		r := row{Block: store.Block{BlockKey: store.BlockKey{PV: pv, Bucket: b}}}
		if !scanRow(it, &r) {
			break
		}
		p.rows = append(p.rows, r)
	}
	p.err = it.Close()
	return p
}

// pages yields the wanted blocks of a page and of the following pages.
func (s *Store) pages(ctx context.Context, pv string, b store.Bucket, from, to int64, p page, want func(end int64) bool) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		for rows := firstRows; ; {
			if p.err != nil {
				yield(store.Block{}, fmt.Errorf("reading blocks of %s: %w", pv, p.err))
				return
			}
			largest := 1
			for i := range p.rows {
				largest = max(largest, len(p.rows[i].Blob))
				if !s.whole(ctx, &p.rows[i], want, yield) {
					return
				}
				p.rows[i].Blob = nil // the caller owns it
			}
			if len(p.next) == 0 {
				return
			}
			rows = min(max(firstRows, sliceBytes/largest), 2*rows, mostRows)
			p = s.page(ctx, pv, b, from, to, rows, p.next)
		}
	}
}

// whole yields the block of a row with its blob, unless want rejects the block. It reads the
// blob from its parts if it is stored out of line. It reports whether to continue.
func (s *Store) whole(ctx context.Context, r *row, want func(end int64) bool, yield func(store.Block, error) bool) bool {
	if !want(r.End) {
		return true
	}
	if isOutOfLine(r.size, r.stamp) {
		if there, err := s.gather(ctx, r); err != nil {
			yield(store.Block{}, fmt.Errorf("reading blocks of %s: %w", r.PV, err))
			return false
		} else if !there {
			return true
		}
	}
	s.metrics.read.Add(float64(len(r.Blob)))
	return yield(r.Block, nil)
}

// row is the content of a block's row.
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
		it := s.query(ctx, "blocks", sliceRows, readSpan[b.Tier()],
			pv, int64(b), sp.first.start, sp.first.writer, sp.first.n, sp.last.start, sp.last.writer, sp.last.n)
		var err error
		for {
			r := row{Block: store.Block{BlockKey: store.BlockKey{PV: pv, Bucket: b}}}
			if !scanRow(it, &r) {
				break
			}
			there := true
			if isOutOfLine(r.size, r.stamp) {
				if there, err = s.gather(ctx, &r); err != nil {
					break
				}
			}
			s.metrics.read.Add(float64(len(r.Blob)))
			if there && !yield(r.Block, nil) {
				_ = it.Close() // the caller stopped early
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

// gatherTries bounds how many times gather reads a block that changed meanwhile.
const gatherTries = 10

// gather reads the blob of a row from its parts. Parts are missing if the block was written
// again after the row was read. In this case gather reads the row again. If the row is still
// the same, the block is damaged. gather reports false if the block was deleted.
func (s *Store) gather(ctx context.Context, r *row) (there bool, err error) {
	for range gatherTries {
		if r.Blob, err = s.getParts(ctx, blockParts(&r.BlockKey, r.stamp, 0), r.size); !errors.Is(err, ErrTorn) {
			return err == nil, err
		}
		torn, stamp := err, r.stamp
		it := s.query(ctx, "blocks", 1, readBlock[r.Bucket.Tier()], blockKey(&r.BlockKey)...)
		there = scanRow(it, r)
		switch err = it.Close(); {
		case err != nil || !there || !isOutOfLine(r.size, r.stamp):
			return there, err
		case r.stamp == stamp:
			r.Damage = torn
			return true, nil
		}
	}
	return false, err
}
