package pebble

import (
	"context"
	"fmt"
)

// Reclaim frees the disk space of deleted blocks now. Without Reclaim, Pebble frees the space
// when a compaction merges later writes with the files that contain the blocks. This can take
// a long time, because these files are large and the deletions are small.
func (s *Store) Reclaim(ctx context.Context) error {
	for _, table := range []byte{tableBlob, tableHeader} {
		prefix := []byte{table}
		if err := s.db.Compact(ctx, prefix, after(prefix), false); err != nil {
			return fmt.Errorf("compacting the archive: %w", err)
		}
	}
	return nil
}
