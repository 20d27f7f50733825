package cassandra

import (
	"context"
	"fmt"
	"iter"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

const channelPage = 1000

// AddChannel implements store.Store. It adds to the sets without reading them.
func (s *Store) AddChannel(ctx context.Context, c store.Channel) error {
	return s.write(ctx, write{
		operation: "channel",
		stmt: `UPDATE channel SET present = true, shards = shards + ?, starts = starts + ?, types = types + ?,
			levels = levels + ?, deleted = deleted + ? WHERE pv = ?`,
		values: []any{integers(c.Shards), integers(c.Starts), integers(c.Types), integers(c.Levels), encodeDeleted(c.Deleted), c.PV},
	})
}

// integers returns the elements of a set as CQL's bigint.
func integers[T ~int | ~int64 | ~uint8](in []T) []int64 {
	out := make([]int64, len(in))
	for i, v := range in {
		out[i] = int64(v)
	}
	return out
}

// elements is the reverse of integers.
func elements[T ~int | ~int64 | ~uint8](in []int64) []T {
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = T(v)
	}
	return out
}

// Channel implements store.Store.
func (s *Store) Channel(ctx context.Context, pv string) (c store.Channel, found bool, err error) {
	it := s.query(ctx, "channel_read", 1, "SELECT pv, shards, starts, types, levels, deleted FROM channel WHERE pv = ?", pv)
	found = scanChannel(it, &c)
	if err := it.Close(); err != nil {
		return store.Channel{}, false, fmt.Errorf("reading the directory: %w", err)
	}
	return c, found, nil
}

// Channels implements store.Store.
func (s *Store) Channels(ctx context.Context) iter.Seq2[store.Channel, error] {
	return func(yield func(store.Channel, error) bool) {
		for c, err := range readRing(ctx, s.cfg.Keyspace+".channel", channelPage, s.channelsIn) {
			if err != nil {
				err = fmt.Errorf("reading the directory: %w", err)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// channelsIn reads the channels in a range of the ring.
func (s *Store) channelsIn(ctx context.Context, r tokens, page int) iter.Seq2[placed[store.Channel], error] {
	return func(yield func(placed[store.Channel], error) bool) {
		it := s.query(ctx, "channel_read", page,
			"SELECT token(pv), pv, shards, starts, types, levels, deleted FROM channel WHERE token(pv) >= ? AND token(pv) <= ?", r.first, r.last)
		for {
			var c placed[store.Channel]
			if !scanChannel(it, &c.row, &c.token) {
				break
			}
			c.key = c.row.PV
			if !yield(c, nil) {
				_ = it.Close() // the caller stopped early
				return
			}
		}
		if err := it.Close(); err != nil {
			yield(placed[store.Channel]{}, err)
		}
	}
}

// scanChannel reads a row: the columns that come first, and those of the channel.
func scanChannel(it *gocql.Iter, c *store.Channel, first ...any) bool {
	var shards, starts, types, levels []int64
	var deleted [][]byte
	if !it.Scan(append(first, &c.PV, &shards, &starts, &types, &levels, &deleted)...) {
		return false
	}
	c.Deleted, c.Damaged = decodeDeleted(deleted)
	c.Shards, c.Starts, c.Types = elements[int](shards), elements[store.Bucket](starts), elements[sample.Type](types)
	c.Levels = elements[store.Level](levels)
	return true
}
