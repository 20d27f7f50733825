package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"varve.dev/varve/engine/store"
	"varve.dev/varve/engine/store/cassandra/cql"
)

// PutCutoff implements store.Store. Before is its own timestamp, so the highest cutoff wins,
// regardless of the engine that wrote it. Earlier versions called the cutoff a floor, and the
// tables keep that name.
func (s *Store) PutCutoff(ctx context.Context, f store.Cutoff) error {
	if f.Before > 0 {
		err := s.write(ctx, write{
			operation: "cutoff",
			stmt:      "UPDATE disk_guard SET before = ? WHERE part = 'floor'",
			values:    []any{f.Before},
			timestamp: f.Before,
		})
		if err != nil {
			return err
		}
	}
	return s.write(ctx, write{
		operation: "cutoff",
		stmt: `UPDATE disk_guard SET raised = ?, raised_by = ?, size = ?, max_size = ?, open = ?, settled = ?, peak = ?
			WHERE part = 'floor'`,
		values: []any{f.At, f.By[:], f.Size, f.Limit, f.Open, f.Settled, f.Peak},
	})
}

// Cutoff implements store.Store.
func (s *Store) Cutoff(ctx context.Context) (f store.Cutoff, found bool, err error) {
	it := s.query(ctx, "cutoff_read", 1, `SELECT before, raised, raised_by, size, max_size, open, settled, peak
		FROM disk_guard WHERE part = 'floor' LIMIT 1`)
	var before *int64 // null: no cutoff was written yet
	var by []byte
	found = it.Scan(&before, &f.At, &by, &f.Size, &f.Limit, &f.Open, &f.Settled, &f.Peak) && before != nil
	if err := it.Close(); err != nil || !found {
		if err != nil {
			err = fmt.Errorf("reading the cutoff: %w", err)
		}
		return store.Cutoff{}, false, err
	}
	f.Before = *before
	copy(f.By[:], by)
	return f, true, nil
}

// PutCutoffProgress implements store.Store.
func (s *Store) PutCutoffProgress(ctx context.Context, sp store.CutoffProgress) error {
	return s.write(ctx, write{
		operation: "cutoff_progress",
		stmt:      "INSERT INTO disk_guard (part, shard, floor, buckets, bytes) VALUES ('floor', ?, ?, ?, ?)",
		values:    []any{sp.Shard, sp.Cutoff, sp.Buckets, sp.Bytes},
	})
}

// CutoffProgress implements store.Store.
func (s *Store) CutoffProgress(ctx context.Context) (shardProgress []store.CutoffProgress, err error) {
	it := s.query(ctx, "cutoff_progress_read", channelPage, "SELECT shard, floor, buckets, bytes FROM disk_guard WHERE part = 'floor'")
	var shard *int // null: the partition holds a cutoff and no progress
	for sp := (store.CutoffProgress{}); it.Scan(&shard, &sp.Cutoff, &sp.Buckets, &sp.Bytes); {
		if shard != nil {
			sp.Shard = *shard
			shardProgress = append(shardProgress, sp)
		}
	}
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("reading the progress of the shards: %w", err)
	}
	return shardProgress, nil
}

// Limit implements store.Store. It returns the sum of data_disk_usage_max_disk_size over
// the nodes of the datacenter. It fails if a node does not answer, and returns 0 if the
// user may not read the setting.
func (s *Store) Limit(ctx context.Context) (bytes int64, err error) {
	for _, h := range s.session.GetHosts() {
		if h.DataCenter() != s.cfg.Datacenter {
			continue
		}
		it := s.session.Query("SELECT value FROM system_views.settings WHERE name = 'data_disk_usage_max_disk_size'").
			SetHostID(h.HostID()).IterContext(withOperation(ctx, "limit"))
		value := ""
		it.Scan(&value)
		if err := cql.Permitted(it.Close()); errors.Is(err, cql.ErrForbidden) {
			return 0, nil
		} else if err != nil {
			return 0, fmt.Errorf("reading the settings of node %v: %w", h.ConnectAddress(), err)
		}
		n, ok := dataSize(value)
		if !ok {
			return 0, nil // if one node has no limit, the archive has none
		}
		bytes += n
	}
	return bytes, nil
}

// units of sizes in cassandra.yaml.
var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}}

// dataSize returns the bytes of a size as Cassandra writes it, such as 100GiB.
func dataSize(s string) (bytes int64, ok bool) {
	for _, u := range units {
		if number, is := strings.CutSuffix(strings.TrimSpace(s), u.name); is {
			n, err := strconv.ParseInt(number, 10, 64)
			return n * u.bytes, err == nil && n > 0 && n <= (1<<62)/u.bytes
		}
	}
	return 0, false
}
