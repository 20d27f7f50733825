package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"varve.dev/varve/engine/store"
)

// JournalTTL implements store.Store. Rows stay until they are sealed.
func (s *Store) JournalTTL(context.Context) (time.Duration, error) { return 0, nil }

// PutJournal implements store.Store.
func (s *Store) PutJournal(ctx context.Context, r store.JournalRow) error {
	if len(r.Blob) > store.MaxBlob {
		return fmt.Errorf("writing a journal row of %d bytes: %w", len(r.Blob), store.ErrTooLarge)
	}
	return s.commit(ctx, "journal", func(b *pebble.Batch) error {
		return b.Set(journalKey(r.Shard, r.Writer, r.At), appendRow(nil, &r), nil)
	})
}

// Journal implements store.Store.
func (s *Store) Journal(ctx context.Context, shard int, w store.WriterID, after, through store.Position) iter.Seq2[store.JournalRow, error] {
	return s.JournalWhere(ctx, shard, w, after, through, func([]byte) bool { return true })
}

// JournalWhere implements store.Store. It copies only the blobs of wanted rows. It reads all rows
// of the writer, so it needs no position through which rows exist.
func (s *Store) JournalWhere(ctx context.Context, shard int, w store.WriterID, from, _ store.Position, wanted func(index []byte) bool) iter.Seq2[store.JournalRow, error] {
	prefix := writerKey(tableJournal, shard, w)
	// No key of a row begins with the key of another position.
	lower := append(journalKey(shard, w, from), 0)
	return decoded(scan(ctx, s.db, lower, after(prefix)), "the journal", func(e entry) (store.JournalRow, error) {
		r := store.JournalRow{Shard: shard, Writer: w}
		if len(e.key) != len(prefix)+8 {
			return r, errCorrupt
		}
		r.At = store.Position(binary.BigEndian.Uint64(e.key[len(prefix):]))
		err := decodeRow(&r, e.value)
		if r.Index = bytes.Clone(r.Index); err == nil && wanted(r.Index) {
			r.Blob = bytes.Clone(r.Blob)
		} else {
			r.Blob = nil
		}
		return r, err
	})
}
