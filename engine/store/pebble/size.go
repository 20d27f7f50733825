package pebble

import "context"

// Size implements store.Store. It counts files of every kind, including those that are
// about to be deleted.
func (s *Store) Size(context.Context) (int64, error) {
	return int64(s.db.Metrics().DiskSpaceUsage()), nil
}
