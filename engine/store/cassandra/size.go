package cassandra

import (
	"context"
	"fmt"
)

// Size implements store.Store. It reads from every node of the datacenter the disk space of
// the keyspace in MiB, without memtables. It fails if a node does not answer.
func (s *Store) Size(ctx context.Context) (int64, error) {
	var mebibytes int64
	for _, h := range s.session.GetHosts() {
		if h.DataCenter() != s.cfg.Datacenter {
			continue
		}
		it := s.session.Query("SELECT mebibytes FROM system_views.disk_usage WHERE keyspace_name = ?", s.cfg.Keyspace).
			SetHostID(h.HostID()).IterContext(withOperation(ctx, "size"))
		for n := int64(0); it.Scan(&n); {
			mebibytes += n
		}
		if err := it.Close(); err != nil {
			return 0, fmt.Errorf("reading the disk usage of node %v: %w", h.ConnectAddress(), err)
		}
	}
	return mebibytes << 20, nil
}
