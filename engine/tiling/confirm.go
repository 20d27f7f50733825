package tiling

import (
	"context"
	"maps"
	"slices"

	"varve.dev/varve/engine/store"
)

// draft is a tile as this sealer left it, until it is seen that it stayed so.
type draft struct {
	stamp int64
	round int  // of checkpoints
	wrong bool // it did not stay so before: what it is made from may lack samples
}

// note notes how a tile is left, and whether it was as it had been left before.
func (s *Shard) note(r *level, t *stamped, stamp int64) {
	if r.unsure == nil {
		r.unsure = map[store.Tile]draft{}
	}
	was, known := r.unsure[t.Tile.Tile]
	r.unsure[t.Tile.Tile] = draft{stamp: stamp, round: s.round, wrong: known && (was.wrong || was.stamp != t.stamp)}
}

// confirm looks at the tiles that were left in earlier rounds. Of those that did not
// stay so, all bins are computed again: another sealer wrote over them what it made of
// an older state. So of two sealers at a time the one whose work was lost puts it right.
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

// compareTiles finds out whether another sealer went on with the tiles of PVs: what is
// in order for this one may be late for them.
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
				r.become(found)
			}
		}
		return nil
	})
}
