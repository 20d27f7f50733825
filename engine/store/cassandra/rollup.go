package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"varve.dev/varve/engine/store"
)

// tilesPerPart is how many tiles share a partition. A partition usually has 3 MB, and at most
// 48 MiB.
const tilesPerPart = 256

// rollupPage is the number of rows per page. Each row has at most store.MaxRollup bytes.
const rollupPage = 32

// Cassandra's timestamp of the column body holds the stamp of a row; there is no column for it.
// If a row is written twice, the write with the later stamp therefore wins, and the writer need
// not read the row first.
var (
	insertRollup = onTiers(`INSERT INTO rollup_@ (pv, level, part, tile, body) VALUES (?, ?, ?, ?, ?)
		USING TIMESTAMP ? AND TTL ?`)
	readRollups = onTiers(`SELECT tile, body, WRITETIME(body) FROM rollup_@
		WHERE pv = ? AND level = ? AND part = ? AND tile >= ? AND tile <= ?`)
	findRollup  = onTiers("SELECT tile FROM rollup_@ WHERE pv = ? AND level = ? AND part = ? LIMIT 1")
	dropRollups = onTiers("DELETE FROM rollup_@ WHERE pv = ? AND level = ? AND part = ?")
)

// part returns the number of the partition, within its level, that holds a tile.
func part(t store.Tile) int64 {
	p := int64(t) / tilesPerPart
	if int64(t)%tilesPerPart < 0 {
		p--
	}
	return p
}

// PutRollups implements store.Store.
func (s *Store) PutRollups(ctx context.Context, rows ...store.Rollup) error {
	for i := range rows {
		r := &rows[i]
		if len(r.Blob) > store.MaxRollup {
			return fmt.Errorf("writing a rollup of %s of %d bytes: %w", r.PV, len(r.Blob), store.ErrTooLarge)
		}
		if err := s.need(ctx, r.Level.Tier()); err != nil {
			return fmt.Errorf("writing a rollup of %s: %w", r.PV, err)
		}
	}
	return each(ctx, len(rows), parallel, func(ctx context.Context, i int) error {
		r := &rows[i]
		blob := r.Blob
		if blob == nil {
			blob = []byte{} // nil would write no column body, so there would be no timestamp
		}
		return s.write(ctx, write{
			operation: "rollup",
			stmt:      insertRollup[r.Level.Tier()],
			values: []any{
				r.PV, int64(r.Level), part(r.Tile), int64(r.Tile), blob, r.Stamp / 1000, s.ttl(r.Level.Expires(r.Tile)),
			},
			size: len(r.PV) + len(blob),
		})
	})
}

// Rollups implements store.Store. It reads one partition after another.
func (s *Store) Rollups(ctx context.Context, pv string, l store.Level, first, last store.Tile) iter.Seq2[store.Rollup, error] {
	return func(yield func(store.Rollup, error) bool) {
		there, err := s.has(ctx, l.Tier())
		if err != nil {
			yield(store.Rollup{}, fmt.Errorf("reading rollups of %s: %w", pv, err))
		}
		if err != nil || !there || last < first {
			return
		}
		for p := part(first); p <= part(last); p++ {
			for r, err := range s.rollups(ctx, pv, l, p, first, last) {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// rollups yields the tiles of a partition from first to last.
func (s *Store) rollups(ctx context.Context, pv string, l store.Level, p int64, first, last store.Tile) iter.Seq2[store.Rollup, error] {
	return func(yield func(store.Rollup, error) bool) {
		it := s.query(ctx, "rollups", rollupPage, readRollups[l.Tier()], pv, int64(l), p, int64(first), int64(last))
		for {
			r := store.Rollup{PV: pv, Level: l}
			var micros int64
			if !it.Scan(&r.Tile, &r.Blob, &micros) {
				break
			}
			r.Stamp = micros * 1000
			s.metrics.read.Add(float64(len(r.Blob)))
			if !yield(r, nil) {
				_ = it.Close() // the caller stopped early
				return
			}
		}
		if err := it.Close(); err != nil {
			yield(store.Rollup{}, fmt.Errorf("reading rollups of %s: %w", pv, err))
		}
	}
}

// deleteRollups deletes the rollups of a PV. It visits the partitions that may contain tiles
// according to the directory and that have not expired.
func (s *Store) deleteRollups(ctx context.Context, c *store.Channel) error {
	t := s.clock.Next()
	for _, l := range c.Levels {
		there, err := s.has(ctx, l.Tier())
		if err != nil {
			return err
		}
		if !there || !l.Valid() {
			continue
		}
		for _, run := range s.partsOf(l, c.Starts) {
			err := each(ctx, int(run.last-run.first)+1, parallel, func(ctx context.Context, i int) error {
				return s.deletePart(ctx, c.PV, l, run.first+int64(i), t)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// deletePart deletes the tiles of a partition if it contains any. It checks this first,
// because most partitions contain none and each deletion leaves a tombstone.
func (s *Store) deletePart(ctx context.Context, pv string, l store.Level, p, timestamp int64) error {
	it := s.query(ctx, "rollups", 1, findRollup[l.Tier()], pv, int64(l), p)
	there := it.Scan(new(int64))
	if err := it.Close(); err != nil {
		return fmt.Errorf("reading rollups of %s: %w", pv, err)
	}
	if !there {
		return nil
	}
	return s.write(ctx, write{operation: "deletion", stmt: dropRollups[l.Tier()], values: []any{pv, int64(l), p}, timestamp: timestamp})
}

// run is a range of partitions, both ends included.
type run struct{ first, last int64 }

// partsOf returns the partitions of a level that may contain tiles, given the starts in the
// directory. It leaves out partitions that have expired.
func (s *Store) partsOf(l store.Level, starts []store.Bucket) (runs []run) {
	oldest := int64(math.MinInt64)
	if keep := l.Tier().Keep(); keep > 0 {
		oldest = s.earliest() - int64(keep+s.shortestTTL)
	}
	var all []run
	for _, b := range starts {
		from, to := max(b.Start(), oldest), b.Span().Last().End()
		if from < to {
			all = append(all, run{part(l.Tile(from)), part(l.Tile(to - 1))})
		}
	}
	slices.SortFunc(all, func(a, b run) int { return cmp.Compare(a.first, b.first) })
	for _, r := range all {
		if n := len(runs); n > 0 && r.first <= runs[n-1].last+1 {
			runs[n-1].last = max(runs[n-1].last, r.last)
		} else {
			runs = append(runs, r)
		}
	}
	return runs
}
