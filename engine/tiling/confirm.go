package tiling

import (
	"context"
	"errors"
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
// tile. If the store refuses this for a PV, Due returns the PV later.
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
		return ctx.Err()
	})
}

// confirmTiles confirms the tiles of a level. It fails only with ErrSuperseded.
func (s *Shard) confirmTiles(ctx context.Context, ser *series, r *level) error {
	for _, at := range slices.Sorted(maps.Keys(r.unsure)) {
		d := r.unsure[at]
		if d.round == s.round {
			continue
		}
		delete(r.unsure, at)
		if err := s.confirmTile(ctx, ser, r, at, d); errors.Is(err, ErrSuperseded) {
			return err
		} else if err != nil {
			s.reviseLater(ser, []span{{r.level.Start(at), r.level.Start(at+1) - 1}}, err)
		}
	}
	return nil
}

func (s *Shard) confirmTile(ctx context.Context, ser *series, r *level, at store.Tile, d draft) error {
	t, stamp, err := s.tile(ctx, ser.pv, r.level, at)
	if err != nil || t == nil || stamp == d.stamp && !d.wrong {
		return err
	}
	if err := s.reload(ctx, ser, r); err != nil {
		return err
	}
	if err := s.refresh(ctx, ser); err != nil {
		return err
	}
	return s.repairSpan(ctx, ser, r, span{max(t.Since, t.Start()), t.Through - 1})
}

// CompareTiles detects whether another sealer has continued the tiles of a PV. If so, samples that
// are in order for this sealer may be late for the tiles. The sealer calls it before Acknowledge.
// Calls for different PVs may run at the same time.
func (s *Shard) CompareTiles(ctx context.Context, pv string) error {
	if !s.mayHaveOthers() {
		return nil
	}
	for _, r := range s.series[pv].levels {
		if err := s.compareLevel(ctx, s.series[pv], r); err != nil {
			return err
		}
	}
	return nil
}

// compareLevel reads the latest tile of a level again.
func (s *Shard) compareLevel(ctx context.Context, ser *series, r *level) error {
	found, err := s.findTiles(ctx, ser, r.level)
	if err == nil && (found.stamp != r.stamp || found.through != r.through) {
		r.replace(found)
	}
	return err
}
