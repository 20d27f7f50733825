package seal

import (
	"context"
	"math"

	"varve.dev/varve/engine/tiling"
)

// sizeOfSets returns the memory, in bytes, that held rows take for their sets of late PVs: see lateSamples.
func sizeOfSets(rows []heldRows) (size int64) {
	for i := range rows {
		size += lateBytes * int64(len(rows[i].late))
	}
	return size
}

// countSets adds the growth of the sets of late PVs, in bytes, to the memory that the engine counts. more is
// negative if the sets have become smaller.
func (s *Shard) countSets(more int64) {
	if more == 0 {
		return
	}
	s.heldSets += more
	s.cfg.sets.Add(more)
	s.cfg.Memory.Add(more)
}

// countHeld brings the counted memory up to date with the sets of all held rows.
func (s *Shard) countHeld() {
	size := int64(0)
	for _, rows := range s.held {
		size += sizeOfSets(rows)
	}
	s.countSets(size - s.heldSets)
}

// dropHeld forgets the held rows. The sealer no longer writes, and its successor reads the rows again.
func (s *Shard) dropHeld() {
	clear(s.held)
	s.countHeld()
}

// limitHeld corrects the tiles of all late PVs of the shard at once if the engine's sets of late PVs take too
// much memory. It then raises the sealed positions past the rows that no longer wait for corrections. A PV
// whose correction failed less than a minute ago still waits, as in correctLate.
func (s *Shard) limitHeld(ctx context.Context) error {
	if s.heldSets == 0 || s.cfg.sets.Load() <= s.cfg.Memory.Limit()/setsShare {
		return nil
	}
	if err := superseding(s.correct(ctx, s.tiles.Due(tiling.Pace{Most: math.MaxInt}))); err != nil {
		return err
	}
	return s.releaseHeld(ctx)
}
