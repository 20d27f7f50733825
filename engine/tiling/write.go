package tiling

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"

	"varve.dev/varve/engine/rollup"
	"varve.dev/varve/engine/store"
)

// patch replaces the bins of a PV and a level that begin in [lo, hi). After it is applied, tiles
// are complete there.
type patch struct {
	level  store.Level
	lo, hi int64
	bins   []rollup.Bin // in [lo, hi)
	stamp  int64        // when the reading of samples began
	// through is the time up to which tiles are expected, and latest is the expected stamp of
	// the latest tile. If the store has other tiles, another sealer wrote them. With everTile,
	// a patch expects any tiles.
	through, latest int64
	// seen are the stamps of the tiles before the bins were computed, or nil. If a tile has another
	// stamp now, another sealer wrote it.
	seen stamps
}

const everTile = math.MaxInt64

// patched describes the last tile that a patch wrote: the end of the patched part, the stamp,
// and the number of bins.
type patched struct {
	to, stamp int64
	bins      int
}

// apply writes the tiles that a patch changes, unless their contents stay the same. Bins outside
// of the patch stay as they are.
func (s *Shard) apply(ctx context.Context, ser *series, r *level, p *patch) (last patched, err error) {
	tiles, err := s.tiles(ctx, ser, p)
	if err != nil {
		return last, err
	}
	rows := make([]store.Rollup, 0, len(tiles))
	now := s.cfg.Clock.Earliest()
	for _, t := range tiles {
		blob, stamp := rollup.Append(nil, &t.Tile), t.stamp
		if !bytes.Equal(blob, t.blob) {
			stamp = stampAfter(max(p.stamp, t.stamp))
		}
		last = patched{to: min(p.hi, t.End()), stamp: stamp, bins: len(t.Bins)}
		if at, ever := p.level.Expires(t.Tile.Tile); ever && at <= now {
			continue
		}
		s.noteDraft(r, t, stamp)
		if stamp != t.stamp {
			rows = append(rows, store.Rollup{PV: ser.pv, Level: p.level, Tile: t.Tile.Tile, Stamp: stamp, Blob: blob})
		}
	}
	if len(rows) > 0 {
		if err := s.cfg.MayWrite(ctx); err != nil {
			return last, err
		}
	}
	s.cfg.Metrics.wrote(rows, len(p.bins))
	return last, s.cfg.Store.PutRollups(ctx, rows...)
}

// isOvertaken reports whether another sealer wrote a tile after the bins of the patch were computed.
func (p *patch) isOvertaken(row *store.Rollup) bool {
	l := p.level
	return l.Start(row.Tile) >= p.through || row.Tile == l.Tile(p.through-1) && row.Stamp != p.latest ||
		p.seen != nil && p.seen[row.Tile] != row.Stamp
}

// stampAfter returns a stamp that is later than a time by a random part of 65 ms. The random
// part makes it unlikely that two sealers give a tile the same stamp.
func stampAfter(t int64) int64 {
	const µs = 1000 // stores may keep no finer times
	return (t/µs + 1 + rand.Int64N(1<<16)) * µs
}

// stamped is a tile with its stamp and its blob in the store. They are 0 and nil if the store
// does not have the tile.
type stamped struct {
	rollup.Tile
	stamp int64
	blob  []byte
}

// existing returns the tiles in the store that a patch may change.
func (s *Shard) existing(ctx context.Context, ser *series, p *patch) (map[store.Tile]*stamped, error) {
	l := p.level
	there := map[store.Tile]*stamped{}
	first := max(l.Tile(p.lo), l.Tile(ser.entry.Earliest()))
	for row, err := range s.cfg.Store.Rollups(ctx, ser.pv, l, first, l.Tile(p.hi-1)) {
		if err != nil {
			return nil, err
		}
		t := &stamped{stamp: row.Stamp, blob: row.Blob}
		if err := rollup.Decode(&t.Tile, &row); err != nil {
			s.reportDamaged(&row, err)
			t.Tile = rollup.Tile{Level: l, Tile: row.Tile, Since: l.Start(row.Tile), Through: l.Start(row.Tile)}
		}
		if p.isOvertaken(&row) {
			return nil, errOtherSealer
		}
		there[row.Tile] = t
	}
	return there, nil
}

// tiles returns the tiles that a patch changes, with the changes applied.
func (s *Shard) tiles(ctx context.Context, ser *series, p *patch) (out []*stamped, err error) {
	l := p.level
	there, err := s.existing(ctx, ser, p)
	if err != nil {
		return nil, err
	}
	complete := p.lo // tiles are complete from lo up to this time
	bins := p.bins
	for at := l.Tile(p.lo); at <= l.Tile(p.hi-1); at++ {
		n := 0
		for n < len(bins) && bins[n].Start < l.Start(at+1) {
			n++
		}
		t := there[at]
		switch {
		case t == nil && n == 0:
			at = skipTo(l, at, bins, there, p.hi)
			continue
		case t == nil:
			t = &stamped{Tile: rollup.Tile{Level: l, Tile: at, Since: complete, Through: complete}}
		}
		t.Since = min(t.Since, complete)
		t.Through = max(t.Through, min(p.hi, t.End()))
		t.Bins = splice(t.Bins, ser.keepDamaged(t.Bins, bins[:n], p.lo, p.hi, s.cfg.Cutoff()), p.lo, p.hi)
		complete, bins = t.Through, bins[n:]
		out = append(out, t)
	}
	return out, nil
}

// skipTo returns the tile before the next tile that has bins or is in the store. It skips the
// tiles in between, because a span without samples may be long.
func skipTo(l store.Level, at store.Tile, bins []rollup.Bin, there map[store.Tile]*stamped, hi int64) store.Tile {
	next := l.Tile(hi-1) + 1
	if len(bins) > 0 {
		next = l.Tile(bins[0].Start)
	}
	for t := range there {
		if t > at {
			next = min(next, t)
		}
	}
	return next - 1
}

// splice replaces the bins that begin in [lo, hi).
func splice(old, bins []rollup.Bin, lo, hi int64) []rollup.Bin {
	out := make([]rollup.Bin, 0, len(old)+len(bins))
	i := 0
	for ; i < len(old) && old[i].Start < lo; i++ {
		out = append(out, old[i])
	}
	out = append(out, bins...)
	for ; i < len(old); i++ {
		if old[i].Start >= hi {
			out = append(out, old[i])
		}
	}
	return out
}
