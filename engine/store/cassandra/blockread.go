package cassandra

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// Limits of the memory that a read of blocks uses.
const (
	headerPage = 1000 // headers per page of a range
	lastPage   = 100  // headers per page when reading back from a time
	nearRows   = 4    // headers of the latest blocks before a time; usually no more are needed
	sliceBytes = 4 << 20
	sliceRows  = 256

	// firstRows is the number of rows of the first page of blocks. Later pages have as many
	// rows as fit into sliceBytes, if their blobs are not larger than those of the previous
	// page. If the blobs are larger, a page has at most 16 MiB.
	firstRows = sliceBytes / schema.BlockInline
	mostRows  = 4 * firstRows
)

// header is a block without its blob, which has size bytes in the block's row.
type header struct {
	start  int64
	writer []byte
	n      int64
	end    int64
	size   int // 0 if the blob is stored out of line
}

func (h *header) is(r *row) bool {
	return h.start == r.Start && bytes.Equal(h.writer, r.Writer[:]) && h.n == int64(r.N)
}

// Blocks implements store.Store. It sends these requests concurrently:
//
//	headers of the latest blocks that start before the range, and the reach of the bucket
//	the latest of these blocks
//	blocks that start in the range, page by page
//
// If the range begins with the bucket, Blocks requests only the blocks in the range. Usually
// one earlier block overlaps the range, so one round trip is enough. Blocks reads out-of-line
// blobs one by one, when the caller requests their blocks.
func (s *Store) Blocks(ctx context.Context, pv string, b store.Bucket, from, to int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		if there, err := s.has(ctx, b.Tier()); err != nil || !there {
			if err != nil {
				yield(store.Block{}, err)
			}
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		first := from
		if from <= b.Start() {
			first = math.MinInt64 // no block starts before
		}
		inside := readAhead(func() page { return s.page(ctx, pv, b, first, to, firstRows, nil) })
		defer inside() // it ends at once
		defer cancel()
		if from > b.Start() {
			for blk, err := range s.into(ctx, pv, b, from) {
				if !yield(blk, err) || err != nil {
					return
				}
			}
		}
		want := func(end int64) bool { return end >= from } // a carried-forward block ends before the bucket
		s.pages(ctx, pv, b, first, to, inside(), want)(yield)
	}
}

// into yields the blocks that start before from and end at or after it.
func (s *Store) into(ctx context.Context, pv string, b store.Bucket, from int64) iter.Seq2[store.Block, error] {
	return func(yield func(store.Block, error) bool) {
		near, err := s.near(ctx, pv, b, from-1)
		if err != nil {
			yield(store.Block{}, err)
			return
		}
		want := func(end int64) bool { return end >= from }
		starts := back(from, near.reach)
		headers := s.headers(ctx, pv, b, starts, from-1, upward, headerPage)
		if near.since(starts) {
			slices.Reverse(near.headers)
			headers = near.all
			if wanted := slices.DeleteFunc(near.headers, func(h header) bool { return !want(h.end) }); len(wanted) == 0 {
				return
			} else if len(wanted) == 1 && wanted[0].is(&near.last) {
				s.whole(ctx, &near.last, want, yield)
				return
			}
		}
		for slice, err := range spans(headers, want) {
			if err != nil {
				yield(store.Block{}, err)
				return
			}
			for blk, err := range s.slice(ctx, pv, b, slice) {
				if err == nil && !want(blk.End) {
					continue // the block was written after the headers were read
				}
				if !yield(blk, err) || err != nil {
					return
				}
			}
		}
	}
}

// LastBlock implements store.Store. It reads backwards from the latest start, as long as an
// earlier block could end later.
func (s *Store) LastBlock(ctx context.Context, pv string, b store.Bucket, at int64) (blk store.Block, found bool, err error) {
	if there, err := s.has(ctx, b.Tier()); err != nil || !there {
		return blk, false, err
	}
	near, err := s.near(ctx, pv, b, at)
	if err != nil || len(near.headers) == 0 {
		return blk, false, err
	}
	last := near.headers[0]
	for _, h := range near.headers {
		if h.end > last.end {
			last = h
		}
	}
	if !near.since(back(last.end, near.reach)) {
		if last, err = s.furthest(ctx, pv, b, at, near.reach); err != nil {
			return blk, false, err
		}
	}
	if last.is(&near.last) {
		s.whole(ctx, &near.last, func(int64) bool { return true }, func(got store.Block, failed error) bool {
			blk, found, err = got, failed == nil, failed
			return false
		})
		return blk, found, err
	}
	for blk, err := range s.slice(ctx, pv, b, span{first: last, last: last, rows: 1}) {
		return blk, err == nil, err
	}
	return blk, false, nil
}

// furthest returns the header of the block that ends last, of the blocks that start at or
// before a time.
func (s *Store) furthest(ctx context.Context, pv string, b store.Bucket, at, reach int64) (last header, err error) {
	found := false
	for h, err := range s.headers(ctx, pv, b, math.MinInt64, at, downward, lastPage) {
		if err != nil {
			return last, err
		}
		if found && back(last.end, reach) > h.start {
			break
		}
		if !found || h.end > last.end {
			last, found = h, true
		}
	}
	return last, nil
}

// back returns t - by, or the least int64 if the difference is below it.
func back(t, by int64) int64 {
	if t < math.MinInt64+by {
		return math.MinInt64
	}
	return t - by
}

var (
	readReach = onTiers("SELECT reaches FROM block_@ WHERE pv = ? AND bucket = ? LIMIT 1")
	// Archives of version 2 store the longest duration itself, in the column reach.
	readOldReach = "SELECT reaches, reach FROM block_forever WHERE pv = ? AND bucket = ? LIMIT 1"
)

// reach returns a duration that is at least as long as the longest block in a bucket, and less
// than twice as long. It returns -1 if the bucket contains no block.
func (s *Store) reach(ctx context.Context, pv string, b store.Bucket) (int64, error) {
	there, err := s.has(ctx, b.Tier())
	if err == nil && !there {
		return -1, nil
	}
	var reaches []int8
	var reach int64
	stmt, columns := readReach[b.Tier()], []any{&reaches}
	if b.Tier() == store.Forever {
		stmt, columns = readOldReach, append(columns, &reach)
	}
	if err == nil {
		err = s.statement(stmt, pv, int64(b)).ScanContext(withOperation(ctx, "block_reach"), columns...)
	}
	switch {
	case errors.Is(err, gocql.ErrNotFound):
		return -1, nil
	case err != nil:
		return 0, fmt.Errorf("reading blocks of %s: %w", pv, err)
	}
	return longest(reach, reaches), nil
}

// longest returns the reach of a bucket, given the columns of its partition.
func longest(reach int64, reaches []int8) int64 {
	for _, n := range reaches {
		reach = max(reach, exp2(n))
	}
	return reach
}

const headersOf = `SELECT start, writer, n, end_time, size, stamp FROM block_@
	WHERE pv = ? AND bucket = ? AND start >= ? AND start <= ? ORDER BY start `

var (
	upward   = onTiers(headersOf + "ASC")
	downward = onTiers(headersOf + "DESC")
)

// headers yields the blocks that start in [from, to], upward or downward.
func (s *Store) headers(ctx context.Context, pv string, b store.Bucket, from, to int64, order perTier, page int) iter.Seq2[header, error] {
	return func(yield func(header, error) bool) {
		it := s.query(ctx, "block_headers", page, order[b.Tier()], pv, int64(b), from, to)
		for {
			var h header
			var stamp int64
			if !it.Scan(&h.start, &h.writer, &h.n, &h.end, &h.size, &stamp) {
				break
			}
			if isOutOfLine(h.size, stamp) {
				h.size = 0
			}
			if !yield(h, nil) {
				_ = it.Close() // the caller stopped early
				return
			}
		}
		if err := it.Close(); err != nil {
			yield(header{}, fmt.Errorf("reading blocks of %s: %w", pv, err))
		}
	}
}

// near describes the blocks just before a time.
type near struct {
	headers []header // of the latest blocks that start at or before the time, the latest first
	ended   bool     // no other block starts at or before the time
	last    row      // the latest of these blocks, unless it has changed meanwhile
	reach   int64    // of the bucket
}

// since reports whether the headers include all blocks that start at or after a time.
func (n *near) since(start int64) bool {
	return n.ended || n.headers[len(n.headers)-1].start < start
}

func (n *near) all(yield func(header, error) bool) {
	for _, h := range n.headers {
		if !yield(h, nil) {
			return
		}
	}
}

var readNear = func() perTier {
	p := onTiers(fmt.Sprintf(`SELECT start, writer, n, end_time, size, stamp, reaches FROM block_@
		WHERE pv = ? AND bucket = ? AND start <= ? ORDER BY start DESC LIMIT %d`, nearRows))
	p[store.Forever] = strings.Replace(p[store.Forever], "reaches", "reaches, reach", 1)
	return p
}()

// near reads the blocks before a time. Every row includes the reach, which is a static column
// of the partition.
func (s *Store) near(ctx context.Context, pv string, b store.Bucket, at int64) (near, error) {
	last := readAhead(func() page { return s.latest(ctx, pv, b, at) })
	var n near
	it := s.query(ctx, "block_headers", nearRows, readNear[b.Tier()], pv, int64(b), at)
	for {
		var h header
		var stamp, reach int64
		var reaches []int8
		columns := []any{&h.start, &h.writer, &h.n, &h.end, &h.size, &stamp, &reaches}
		if b.Tier() == store.Forever {
			columns = append(columns, &reach)
		}
		if !it.Scan(columns...) {
			break
		}
		if isOutOfLine(h.size, stamp) {
			h.size = 0
		}
		n.headers, n.reach = append(n.headers, h), longest(reach, reaches)
	}
	n.ended = len(n.headers) < nearRows
	err, got := it.Close(), last()
	if err == nil {
		err = got.err
	}
	if err != nil {
		return n, fmt.Errorf("reading blocks of %s: %w", pv, err)
	}
	if len(got.rows) > 0 {
		n.last = got.rows[0]
	}
	return n, nil
}

// span is a run of consecutive blocks of a partition.
type span struct {
	first, last header
	rows, bytes int
}

// spans groups the wanted headers, in order, into spans of bounded size. No span includes
// an unwanted block.
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

// isOutOfLine reports whether a blob is stored in parts. If a block was once stored out of
// line and was then written again with an inline blob, its row keeps the stamp.
func isOutOfLine(size int, stamp int64) bool { return size > schema.BlockInline && stamp != 0 }
