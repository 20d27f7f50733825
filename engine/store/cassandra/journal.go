package cassandra

import (
	"context"
	"errors"
	"fmt"
	"iter"

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
func (s *Store) Journal(ctx context.Context, shard int, w store.WriterID, after store.Position) iter.Seq2[store.JournalRow, error] {
	return func(yield func(store.JournalRow, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		begin := func(n uint32) func() *gocql.Iter {
			return readAhead(func() *gocql.Iter { return s.partition(ctx, shard, w, n, 0) })
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
			for r, err := range s.journalRows(ctx, shard, w, n, it) {
				if next == nil {
					next = begin(n + 1)
				}
				if !yield(r, err) || err != nil {
					return false
				}
				after = r.At
			}
			return true
		}
		for it := s.partition(ctx, shard, w, n, after); rows(it) && next != nil; n++ {
			it = next()
			if it.NumRows() > 0 && !rows(s.partition(ctx, shard, w, n, after)) {
				return
			}
			next = nil
		}
	}
}

// partition requests the rows of partition n after a position.
func (s *Store) partition(ctx context.Context, shard int, w store.WriterID, n uint32, after store.Position) *gocql.Iter {
	from := uint32(0)
	if n == after.N() {
		from = after.Seq()
	}
	return s.query(ctx, "journal_read", journalPage,
		"SELECT seq, names, body, size FROM journal WHERE shard = ? AND writer = ? AND n = ? AND seq > ?",
		shard, w[:], int64(n), int64(from))
}

// journalRows yields the rows of partition n and closes the iterator.
func (s *Store) journalRows(ctx context.Context, shard int, w store.WriterID, n uint32, it *gocql.Iter) iter.Seq2[store.JournalRow, error] {
	return func(yield func(store.JournalRow, error) bool) {
		var err error
		for {
			var seq int64
			var size int // of a blob in parts; null for other rows
			r := store.JournalRow{Shard: shard, Writer: w}
			if !it.Scan(&seq, &r.Index, &r.Blob, &size) {
				break
			}
			r.At = store.At(n, uint32(seq))
			if size > 0 {
				r.Blob, err = s.getParts(ctx, journalParts(&r), size)
				if errors.Is(err, ErrTorn) {
					r.Damage, err = err, nil
				}
				if err != nil {
					break
				}
			}
			s.metrics.read.Add(float64(len(r.Blob)))
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
