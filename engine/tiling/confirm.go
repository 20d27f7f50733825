package tiling

import (
	"context"
	"maps"
	"slices"

	"varve.dev/varve/engine/store"
)

// draft is a tile that this sealer wrote, until the sealer has confirmed that the tile is
// unchanged.
type draft struct {
	stamp int64
	round int  // the checkpoint in which it was written
	wrong bool // the tile had changed before this write, so its bins may lack samples
}

// noteDraft notes that a tile was written with a stamp, and whether another sealer had written
// the tile after this sealer last wrote it.
func (s *Shard) noteDraft(r *level, t *stamped, stamp int64) {
	if r.unsure == nil {
		r.unsure = map[store.Tile]draft{}
	}
	was, known := r.unsure[t.Tile.Tile]
	r.unsure[t.Tile.Tile] = draft{stamp: stamp, round: s.round, wrong: known && (was.wrong || was.stamp != t.stamp)}
}

// confirm reads the tiles that were written in earlier checkpoints again. If another sealer
// has overwritten a tile from an older state of that tile, confirm recomputes all its bins. If
// two sealers work at the same time, the sealer whose work was lost therefore corrects the
// tile.
func (s *Shard) confirm(ctx context.Context) error {
	var due []*series
	for _, ser := range s.series {
		for _, r := range ser.levels {
			if !s.mayHaveOthers() {
				r.unsure = nil
			}
			if len(r.unsure) > 0 {
				due = append(due, ser)
				break
			}
		}
	}
	return inParallel(ctx, due, func(ctx context.Context, ser *series) error {
		for _, r := range ser.levels {
			if err := s.confirmTiles(ctx, ser, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Shard) confirmTiles(ctx context.Context, ser *series, r *level) error {
	for _, at := range slices.Sorted(maps.Keys(r.unsure)) {
		d := r.unsure[at]
		if d.round == s.round {
			continue
		}
		t, stamp, err := s.tile(ctx, ser.pv, r.level, at)
		if err != nil {
			return err
		}
		delete(r.unsure, at)
		if t == nil || stamp == d.stamp && !d.wrong {
			continue
		}
		if err = s.reload(ctx, ser, r); err == nil {
			err = s.refresh(ctx, ser)
		}
		if err == nil {
			err = s.repairSpan(ctx, ser, r, span{max(t.Since, t.Start()), t.Through - 1})
		}
		if err != nil {
			r.unsure[at] = d
			return err
		}
	}
	return nil
}

// compareTiles detects whether another sealer has continued the tiles of PVs. If so, samples
// that are in order for this sealer may be late for the tiles.
func (s *Shard) compareTiles(ctx context.Context, parts []Part) error {
	if !s.mayHaveOthers() {
		return nil
	}
	due := map[*series]bool{}
	for _, p := range parts {
		if p.Run.Len() > 0 && len(s.series[p.PV].levels) > 0 {
			due[s.series[p.PV]] = true
		}
	}
	return inParallel(ctx, slices.Collect(maps.Keys(due)), func(ctx context.Context, ser *series) error {
		for _, r := range ser.levels {
			found, err := s.findTiles(ctx, ser, r.level)
			if err != nil {
				return err
			}
			if found.stamp != r.stamp || found.through != r.through {
				r.replace(found)
			}
		}
		return nil
	})
}
