package cassandra

import (
	"context"
	"fmt"
	"iter"
)

// PVs yields the names of all PVs that have a directory entry, marks or metadata. It may yield a PV several times.
func (s *Store) PVs(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, table := range []string{"channel", "mark", "metadata"} {
			for pv, err := range readRing(ctx, s.cfg.Keyspace+"."+table, channelPage, s.pvsIn(table)) {
				if err != nil {
					err = fmt.Errorf("reading the names of the PVs: %w", err)
				}
				if !yield(pv, err) || err != nil {
					return
				}
			}
		}
	}
}

// pvsIn returns a function that reads the PVs of a table in a range of the ring.
func (s *Store) pvsIn(table string) readTokens[string] {
	stmt := "SELECT DISTINCT token(pv), pv FROM " + table + " WHERE token(pv) >= ? AND token(pv) <= ?"
	return func(ctx context.Context, r tokens, page int) iter.Seq2[placed[string], error] {
		return func(yield func(placed[string], error) bool) {
			it := s.query(ctx, "pvs_read", page, stmt, r.first, r.last)
			for {
				var pv placed[string]
				if !it.Scan(&pv.token, &pv.row) {
					break
				}
				pv.key = pv.row
				if !yield(pv, nil) {
					_ = it.Close() // the caller stopped early
					return
				}
			}
			if err := it.Close(); err != nil {
				yield(placed[string]{}, err)
			}
		}
	}
}

// ChannelNames implements store.NameLister.
func (s *Store) ChannelNames(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for pv, err := range readRing(ctx, s.cfg.Keyspace+".channel", channelPage, s.pvsIn("channel")) {
			if err != nil {
				err = fmt.Errorf("reading the names in the directory: %w", err)
			}
			if !yield(pv, err) || err != nil {
				return
			}
		}
	}
}
