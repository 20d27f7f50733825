package seal

import (
	"context"
	"math"

	"varve.dev/varve/engine/tiling"
)

// sizeOfSets returns the bytes of the sets of late PVs of held rows.
func sizeOfSets(rows []heldRows) (size int64) {
	for i := range rows {
		size += lateBytes * int64(len(rows[i].late))
	}
	return size
}

// countSets counts bytes of sets of late PVs as memory. more is negative if there are fewer.
func (s *Shard) countSets(more int64) {
	if more == 0 {
		return
	}
	s.heldSets += more
	s.cfg.sets.Add(more)
	s.cfg.Memory.Add(more)
}

// countHeld counts the present sets of all held rows.
func (s *Shard) countHeld() {
	size := int64(0)
	for _, rows := range s.held {
		size += sizeOfSets(rows)
	}
	s.countSets(size - s.heldSets)
}

// dropHeld forgets the held rows. The sealer writes no more, and its successor reads the rows again.
func (s *Shard) dropHeld() {
	clear(s.held)
	s.countHeld()
}

// limitHeld corrects all tiles at once if the sets of late PVs of the engine take too much memory, and then
// raises the sealed positions of the rows that no longer wait. A PV whose correction has failed a moment ago
// still waits, as in correctLate.
func (s *Shard) limitHeld(ctx context.Context) error {
	if s.heldSets == 0 || s.cfg.sets.Load() <= s.cfg.Memory.Limit()/setsShare {
		return nil
	}
	if err := superseding(s.correct(ctx, s.tiles.Due(tiling.Pace{Most: math.MaxInt}))); err != nil {
		return err
	}
	return s.releaseHeld(ctx)
}
