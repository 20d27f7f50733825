package cassandra

import (
	"context"
	"fmt"
	"iter"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/schema"
)

// journalPage is how many rows of the journal are read at a time: a row has up
// to schema.PartBytes, and mostly less than a quarter of a MiB.
const journalPage = 16

// PutJournal implements store.Store. The parts of a large row are acknowledged
// before the row is sent that has their size: who sees that, sees them, and a
// row that was broken off is not seen at all. Sending it again writes the same
// parts. They are kept for longer than the row, which is how both expire.
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

// Journal implements store.Store. The partition of the position may be gone, as
// its rows expire; the ones after it are written one after another. The next one is asked
// for as soon as there is reason to think that it holds rows: with that of the position,
// which may be empty, and with the rows of one after it. A writer may have gone on to it
// after the one before was read: as it does so once its rows there are acknowledged, what
// was missed is found when that is read again.
func (s *Store) Journal(ctx context.Context, shard int, w store.WriterID, after store.Position) iter.Seq2[store.JournalRow, error] {
	return func(yield func(store.JournalRow, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		begin := func(n uint32) func() *gocql.Iter {
			return ask(func() *gocql.Iter { return s.partition(ctx, shard, w, n, 0) })
		}
		var next func() *gocql.Iter
		defer func() {
			cancel()
			if next != nil {
				_ = next().Close() // the caller has what it wanted
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

// partition asks for the rows of partition n after a position.
func (s *Store) partition(ctx context.Context, shard int, w store.WriterID, n uint32, after store.Position) *gocql.Iter {
	from := uint32(0)
	if n == after.N() {
		from = after.Seq()
	}
	return s.query(ctx, "journal_read", journalPage,
		"SELECT seq, names, body, size FROM journal WHERE shard = ? AND writer = ? AND n = ? AND seq > ?",
		shard, w[:], int64(n), int64(from))
}

// journalRows yields the rows of partition n, and closes it.
func (s *Store) journalRows(ctx context.Context, shard int, w store.WriterID, n uint32, it *gocql.Iter) iter.Seq2[store.JournalRow, error] {
	return func(yield func(store.JournalRow, error) bool) {
		var err error
		for {
			var seq int64
			var size int // of a blob in parts, or null
			r := store.JournalRow{Shard: shard, Writer: w}
			if !it.Scan(&seq, &r.Index, &r.Blob, &size) {
				break
			}
			r.At = store.At(n, uint32(seq))
			if size > 0 {
				if r.Blob, err = s.getParts(ctx, journalParts(&r), size); err != nil {
					break
				}
			}
			s.metrics.read.Add(float64(len(r.Blob)))
			if !yield(r, nil) {
				_ = it.Close() // the caller has what it wanted
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
