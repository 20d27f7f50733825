package cassandra

import (
	"context"
	"fmt"
	"iter"

	"varve.dev/varve/engine/store"
)

// journalPage is how many rows of the journal are read at a time: a row has up
// to 1 MiB, and mostly a quarter of it.
const journalPage = 16

// PutJournal implements store.Store.
func (s *Store) PutJournal(ctx context.Context, r store.JournalRow) error {
	if len(r.Blob) > store.MaxBlob {
		return fmt.Errorf("writing a journal row of %d bytes: %w", len(r.Blob), store.ErrTooLarge)
	}
	return s.write(ctx, write{
		operation: "journal",
		stmt:      "INSERT INTO journal (shard, writer, n, seq, names, body) VALUES (?, ?, ?, ?, ?, ?)",
		values:    []any{r.Shard, r.Writer[:], int64(r.At.N()), int64(r.At.Seq()), r.Index, r.Blob},
		size:      len(r.Index) + len(r.Blob),
	})
}

// Journal implements store.Store. The partition of the position may be gone, as
// its rows expire; the ones after it are written one after another.
func (s *Store) Journal(ctx context.Context, shard int, w store.Writer, after store.Position) iter.Seq2[store.JournalRow, error] {
	return func(yield func(store.JournalRow, error) bool) {
		for n := max(after.N(), 1); ; n++ {
			rows := 0
			for r, err := range s.partition(ctx, shard, w, n, after) {
				if rows++; !yield(r, err) || err != nil {
					return
				}
			}
			if rows == 0 && n != after.N() {
				return
			}
		}
	}
}

// partition yields the rows of partition n after a position.
func (s *Store) partition(ctx context.Context, shard int, w store.Writer, n uint32, after store.Position) iter.Seq2[store.JournalRow, error] {
	return func(yield func(store.JournalRow, error) bool) {
		from := uint32(0)
		if n == after.N() {
			from = after.Seq()
		}
		it := s.query(ctx, "journal_read", journalPage,
			"SELECT seq, names, body FROM journal WHERE shard = ? AND writer = ? AND n = ? AND seq > ?",
			shard, w[:], int64(n), int64(from))
		for {
			var seq int64
			r := store.JournalRow{Shard: shard, Writer: w}
			if !it.Scan(&seq, &r.Index, &r.Blob) {
				break
			}
			r.At = store.At(n, uint32(seq))
			s.metrics.read.Add(float64(len(r.Blob)))
			if !yield(r, nil) {
				_ = it.Close() // the caller has what it wanted
				return
			}
		}
		if err := it.Close(); err != nil {
			yield(store.JournalRow{}, fmt.Errorf("reading the journal of shard %d: %w", shard, err))
		}
	}
}
