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

// DropDamaged removes the elements of the directory entry of a PV that cannot be read.
func (s *Store) DropDamaged(ctx context.Context, pv string) error {
	var all, damaged [][]byte
	err := s.session.Query("SELECT deleted FROM channel WHERE pv = ?", pv).ScanContext(withOperation(ctx, "channel_read"), &all)
	if err != nil {
		return fmt.Errorf("reading the directory: %w", err)
	}
	for _, e := range all {
		if _, bad := decodeDeleted([][]byte{e}); bad > 0 {
			damaged = append(damaged, e)
		}
	}
	return s.write(ctx, write{operation: "channel", stmt: "UPDATE channel SET deleted = deleted - ? WHERE pv = ?", values: []any{damaged, pv}})
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
