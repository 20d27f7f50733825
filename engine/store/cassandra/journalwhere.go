package cassandra

import (
	"context"
	"errors"
	"fmt"
	"iter"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
)

// indexPage is the number of rows per page if the rows come without their blobs. The index of a
// row is usually some KiB long.
const indexPage = 64

// errGone is the damage of a wanted row that had no blob any longer, or not yet, when the blob
// was read.
var errGone = errors.New("the row is gone")

// JournalWhere implements store.Store. It first reads rows without their blobs, and then the
// blobs of the wanted rows, several at a time.
//
// A row never changes, so both reads see the same row. Only a row that was not acknowledged
// yet, or that expired in between, may lack its blob at the second read. A reader does not need
// such a row: it became durable after the read began, or was sealed before.
func (s *Store) JournalWhere(ctx context.Context, shard int, w store.WriterID, after, through store.Position, wanted func(index []byte) bool) iter.Seq2[store.JournalRow, error] {
	return s.journal(ctx, shard, w, after, through, wanted)
}

// indexedRows reads the rows of partition n, and the blobs only of wanted rows.
type indexedRows struct {
	s      *Store
	shard  int
	w      store.WriterID
	n      uint32
	wanted func(index []byte) bool
}

// indexedRow is a row whose blob is not read yet.
type indexedRow struct {
	store.JournalRow
	seq    int64
	size   int // of a blob in parts, 0 for other blobs
	wanted bool
}

// all yields the rows of an iterator without blobs, and closes the iterator.
func (p *indexedRows) all(ctx context.Context, it *gocql.Iter) iter.Seq2[store.JournalRow, error] {
	return func(yield func(store.JournalRow, error) bool) {
		more := true
		var err error
		for more && err == nil {
			var batch []indexedRow
			if batch, more = p.next(it); len(batch) == 0 {
				break
			}
			var stopped bool
			if stopped, err = p.yieldAll(ctx, batch, yield); stopped {
				_ = it.Close() // the caller stopped early
				return
			}
		}
		if closed := it.Close(); err == nil {
			err = closed
		}
		if err != nil {
			yield(store.JournalRow{}, fmt.Errorf("reading the journal of shard %d: %w", p.shard, err))
		}
	}
}

// next returns the next rows, with at most journalPage wanted ones.
func (p *indexedRows) next(it *gocql.Iter) (batch []indexedRow, more bool) {
	wanted := 0
	for len(batch) < indexPage && wanted < journalPage {
		r := indexedRow{JournalRow: store.JournalRow{Shard: p.shard, Writer: p.w}}
		var written int64 // in µs
		if !it.Scan(&r.seq, &r.Index, &r.size, &written) {
			return batch, false
		}
		r.At, r.Written = store.At(p.n, uint32(r.seq)), written*1000
		if r.wanted = p.wanted(r.Index); r.wanted {
			wanted++
		}
		p.s.metrics.read.Add(float64(len(r.Index)))
		batch = append(batch, r)
	}
	return batch, true
}

// yieldAll yields rows, and fetches the blobs of the wanted ones. It fetches a blob in parts just
// before it yields the row, so that it holds one large blob at a time.
func (p *indexedRows) yieldAll(ctx context.Context, batch []indexedRow, yield func(store.JournalRow, error) bool) (stopped bool, err error) {
	bodies, err := p.bodies(ctx, batch)
	if err != nil {
		return false, err
	}
	for i := range batch {
		r := batch[i].JournalRow
		switch size := batch[i].size; {
		case !batch[i].wanted:
		case size > 0:
			err = p.s.fetchParts(ctx, &r, size)
		case bodies[batch[i].seq] == nil:
			r.Damage = errGone
		default:
			r.Blob = bodies[batch[i].seq]
		}
		if err != nil {
			return false, err
		}
		p.s.metrics.read.Add(float64(len(r.Blob)))
		if !yield(r, nil) {
			return true, nil
		}
	}
	return false, nil
}

// bodies returns the blobs of wanted rows, except blobs in parts, by sequence number.
func (p *indexedRows) bodies(ctx context.Context, batch []indexedRow) (map[int64][]byte, error) {
	var wanted []int64
	for i := range batch {
		if batch[i].wanted && batch[i].size == 0 {
			wanted = append(wanted, batch[i].seq)
		}
	}
	bodies := make(map[int64][]byte, len(wanted))
	if len(wanted) == 0 {
		return bodies, nil
	}
	it := p.s.query(ctx, "journal_read", len(wanted),
		"SELECT seq, body FROM journal WHERE shard = ? AND writer = ? AND n = ? AND seq IN ?", p.shard, p.w[:], int64(p.n), wanted)
	for {
		var seq int64
		var body []byte
		if !it.Scan(&seq, &body) {
			return bodies, it.Close()
		}
		bodies[seq] = body
	}
}
