package cassandra

import (
	"context"
	"fmt"
	"time"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/schema"
)

var dropBlock = onTiers("DELETE FROM block_@ WHERE pv = ? AND bucket = ? AND start = ? AND writer = ? AND n = ?")

// DropBlock deletes one block that cannot be read. Parts of its blob that are stored out
// of line stay until the bucket is deleted.
func (s *Store) DropBlock(ctx context.Context, k store.BlockKey) error {
	return s.write(ctx, write{operation: "deletion", stmt: dropBlock[k.Bucket.Tier()], values: blockKey(&k)})
}

// JournalTTL implements store.Store.
func (s *Store) JournalTTL(ctx context.Context) (time.Duration, error) {
	var seconds int
	err := s.session.Query("SELECT default_time_to_live FROM system_schema.tables WHERE keyspace_name = ? AND table_name = 'journal'",
		s.cfg.Keyspace).ScanContext(withOperation(ctx, "journal_ttl"), &seconds)
	if err != nil {
		return 0, fmt.Errorf("reading how long the journal is kept: %w", err)
	}
	return time.Duration(seconds) * time.Second, nil
}

// FormatLevel implements store.Store.
func (s *Store) FormatLevel(ctx context.Context) (store.FormatLevel, error) {
	return schema.ReadLevel(withOperation(ctx, "format"), s.session, s.cfg.Keyspace)
}

// Finalize implements store.Store.
func (s *Store) Finalize(ctx context.Context) (store.FormatLevel, error) {
	return schema.Finalize(withOperation(ctx, "format"), s.session, s.cfg)
}
