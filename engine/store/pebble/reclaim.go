package pebble

import (
	"context"
	"fmt"
)

// Reclaim gives back the room of blocks that were deleted, now: by itself, Pebble does so
// when what is written later comes to be merged with the files that have them. That can
// take long, as these are large, and the deletions are small.
func (s *Store) Reclaim(ctx context.Context) error {
	for _, table := range []byte{tableBlob, tableHeader} {
		prefix := []byte{table}
		if err := s.db.Compact(ctx, prefix, after(prefix), false); err != nil {
			return fmt.Errorf("compacting the archive: %w", err)
		}
	}
	return nil
}
