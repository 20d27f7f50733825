package cassandra

import (
	"context"
	"fmt"
	"iter"

	"varve.dev/varve/engine/store"
)

// journalPage is how many rows of the journal are read at a time: a row has up
// to partBytes, and mostly less than a quarter of a MiB.
const journalPage = 16

// PutJournal implements store.Store. The parts of a large row are acknowledged
// before the row is sent that has their size: who sees that, sees them, and a
// row that was broken off is not seen at all. Sending it again writes the same
// parts. They are kept for longer than the row, which is how both expire.
func (s *Store) PutJournal(ctx context.Context, r store.JournalRow) error {
	if len(r.Blob) > store.MaxBlob {
		return fmt.Errorf("writing a journal row of %d bytes: %w", len(r.Blob), store.ErrTooLarge)
	}
	row := write{operation: "journal", timestamp: s.clock.next()}
	key := []any{r.Shard, r.Writer[:], int64(r.At.N()), int64(r.At.Seq()), r.Index}
	if len(r.Blob) <= partBytes {
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
			"SELECT seq, names, body, size FROM journal WHERE shard = ? AND writer = ? AND n = ? AND seq > ?",
			shard, w[:], int64(n), int64(from))
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
