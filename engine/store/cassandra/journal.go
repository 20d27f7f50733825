package cassandra

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// journalPage is the number of journal rows per page. A row has at most schema.PartBytes, and
// usually less than a quarter of a MiB.
const journalPage = 16

// PutJournal implements store.Store. The parts of a large row are acknowledged before the row
// with their size is sent. A reader that sees the row therefore sees its parts, and no reader
// sees an interrupted write. A repeated write writes the same parts. Parts are kept longer
// than their row.
func (s *Store) PutJournal(ctx context.Context, r store.JournalRow) error {
	if len(r.Blob) > store.MaxBlob {
		return fmt.Errorf("writing a journal row of %d bytes: %w", len(r.Blob), store.ErrTooLarge)
	}
	row := write{operation: "journal", timestamp: s.clock.Next()}
	key := []any{r.Shard, r.Writer[:], int64(r.At.N()), int64(r.At.Seq()), r.Index}
	if len(r.Blob) <= schema.PartBytes {
		row.stmt = "INSERT INTO journal (shard, writer, n, seq, names, body) VALUES (?, ?, ?, ?, ?, ?)"
		row.values, row.size = append(key, r.Blob), len(r.Index)+len(r.Blob)
		return s.write(ctx, row)
	}
	if err := s.putParts(ctx, journalParts(&r), r.Blob, row.timestamp); err != nil {
		return err
	}
	row.stmt = "INSERT INTO journal (shard, writer, n, seq, names, size) VALUES (?, ?, ?, ?, ?, ?)"
	row.values, row.size = append(key, len(r.Blob)), len(r.Index)
	return s.write(ctx, row)
}

// Journal implements store.Store. The partition of the position may be empty, because its rows
// expire. The writer fills the following partitions one after another. Journal requests the
// next partition early if it may contain rows: together with the partition of the position,
// and whenever a later partition contains rows. The writer may begin the next partition after
// Journal has read the previous one. At that time all rows of the previous partition are
// acknowledged. Journal therefore reads the previous partition again to find the rows that it
// missed.
//
// If a partition before that of the position through has no rows, they have expired. Journal then
// searches for the next partition with rows.
func (s *Store) Journal(ctx context.Context, shard int, w store.WriterID, after, through store.Position) iter.Seq2[store.JournalRow, error] {
	return s.journal(ctx, shard, w, after, through, nil)
}

// journal implements Journal and, if wanted is not nil, JournalWhere.
func (s *Store) journal(ctx context.Context, shard int, w store.WriterID, after, through store.Position, wanted func(index []byte) bool) iter.Seq2[store.JournalRow, error] {
	return func(yield func(store.JournalRow, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		begin := func(n uint32) func() *gocql.Iter {
			return readAhead(func() *gocql.Iter { return s.partition(ctx, shard, w, n, 0, wanted) })
		}
		var next func() *gocql.Iter
		defer func() {
			cancel()
			if next != nil {
				_ = next().Close() // the caller stopped early
			}
		}()
		n := max(after.N(), 1)
		if n == after.N() {
			next = begin(n + 1)
		}
		rows := func(it *gocql.Iter) bool {
			for r, err := range s.journalRows(ctx, shard, w, n, it, wanted) {
				if next == nil {
					next = begin(n + 1)
				}
				if !errors.Is(r.Damage, errGone) && (!yield(r, err) || err != nil) {
					return false
				}
				after = r.At
			}
			return true
		}
		for it := s.partition(ctx, shard, w, n, after, wanted); rows(it); n++ {
			if next == nil { // partition n has no rows
				found, err := s.findPartition(ctx, shard, w, n+1, through.N())
				if err != nil {
					yield(store.JournalRow{}, fmt.Errorf("reading the journal of shard %d: %w", shard, err))
				}
				if found == 0 {
					return
				}
				n, next = found-1, begin(found)
			}
			it = next()
			if it.NumRows() > 0 && !rows(s.partition(ctx, shard, w, n, after, wanted)) {
				return
			}
			next = nil
		}
	}
}

// Limits of a search for partitions with rows. Some services refuse queries of more partitions.
// A writer fills searchMost partitions in more than a month.
const (
	searchWidth = 20
	searchMost  = 1 << 16
)

// findPartition returns the first partition with rows among the partitions from first to last, or
// 0 if they have none. If there are very many, it leaves out the first ones, which expired first.
func (s *Store) findPartition(ctx context.Context, shard int, w store.WriterID, first, last uint32) (uint32, error) {
	last = min(last, math.MaxInt32) // the table has no others
	if last >= searchMost {
		first = max(first, last-searchMost)
	}
	for from := int64(first); from <= int64(last); from += searchWidth {
		var among []int64
		for n := from; n <= int64(last) && len(among) < searchWidth; n++ {
			among = append(among, n)
		}
		it := s.query(ctx, "journal_search", searchWidth,
			"SELECT n FROM journal WHERE shard = ? AND writer = ? AND n IN ? PER PARTITION LIMIT 1", shard, w[:], among)
		found := int64(math.MaxInt64)
		for n := int64(0); it.Scan(&n); {
			found = min(found, n)
		}
		if err := it.Close(); err != nil || found != math.MaxInt64 {
			return uint32(found), err
		}
	}
	return 0, nil
}

// partition requests the rows of partition n after a position. If wanted is not nil, the rows come
// without their blobs.
func (s *Store) partition(ctx context.Context, shard int, w store.WriterID, n uint32, after store.Position, wanted func(index []byte) bool) *gocql.Iter {
	from := uint32(0)
	if n == after.N() {
		from = after.Seq()
	}
	if wanted != nil {
		return s.query(ctx, "journal_index", indexPage, "SELECT seq, names, size, WRITETIME(names) FROM journal WHERE shard = ? AND writer = ? AND n = ? AND seq > ?",
			shard, w[:], int64(n), int64(from))
	}
	return s.query(ctx, "journal_read", journalPage,
		"SELECT seq, names, body, size, WRITETIME(names) FROM journal WHERE shard = ? AND writer = ? AND n = ? AND seq > ?",
		shard, w[:], int64(n), int64(from))
}

// journalRows yields the rows of partition n and closes the iterator.
func (s *Store) journalRows(ctx context.Context, shard int, w store.WriterID, n uint32, it *gocql.Iter, wanted func(index []byte) bool) iter.Seq2[store.JournalRow, error] {
	if wanted != nil {
		return (&indexedRows{s, shard, w, n, wanted}).all(ctx, it)
	}
	return func(yield func(store.JournalRow, error) bool) {
		var err error
		for {
			var seq int64
			var size int      // of a blob in parts; null for other rows
			var written int64 // in µs; null if the index is
			r := store.JournalRow{Shard: shard, Writer: w}
			if !it.Scan(&seq, &r.Index, &r.Blob, &size, &written) {
				break
			}
			r.At, r.Written = store.At(n, uint32(seq)), written*1000
			if size > 0 {
				if err = s.fetchParts(ctx, &r, size); err != nil {
					break
				}
			}
			s.metrics.read.Add(float64(len(r.Index) + len(r.Blob)))
			if !yield(r, nil) {
				_ = it.Close() // the caller stopped early
				return
			}
		}
		if closed := it.Close(); err == nil {
			err = closed
		}
		if err != nil {
			yield(store.JournalRow{}, fmt.Errorf("reading the journal of shard %d: %w", shard, err))
		}
	}
}

// fetchParts reads the blob of a row from its parts. A row whose parts are missing is damaged.
func (s *Store) fetchParts(ctx context.Context, r *store.JournalRow, size int) (err error) {
	r.Blob, err = s.getParts(ctx, journalParts(r), size)
	if errors.Is(err, ErrTorn) {
		r.Damage, err = err, nil
	}
	return err
}
