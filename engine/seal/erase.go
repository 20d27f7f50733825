package seal

import (
	"context"
	"fmt"

	"varve.dev/varve/engine/layout"
)

// Erase removes the samples of ranges that users have deleted from the tiles of PVs, and begins to remove them from
// blocks. The directory already has the ranges, so readers hide the samples, and this sealer leaves out those in
// memory and in journal rows. Erase first makes a checkpoint, so that these rows become blocks without them. It
// may be repeated.
func (s *Shard) Erase(ctx context.Context, pvs []string) error {
	if err := s.waitToLead(ctx); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.ended {
		return errEnded
	}
	for _, pv := range pvs { // an open block, a last sample, or an accumulator may have deleted samples
		s.forget(pv)
	}
	if err := s.Checkpoint(ctx); err != nil {
		return err
	}
	for _, pv := range pvs {
		c, _, err := s.cfg.Store.Channel(ctx, pv)
		if err != nil {
			return err
		}
		s.forget(pv)
		c.LeaveOutFuture(layout.MaxDeleted(s.clock.Now().End))
		if err := s.tiles.Erase(ctx, pv, c.OpenMask()); err != nil {
			return fmt.Errorf("deleting samples of %s from rollups: %w", pv, err)
		}
		s.blocks.Erase(pv, s.writer)
	}
	return nil
}

// dropDeleted leaves the samples in deleted ranges out of a part. It returns their number.
func (s *series) dropDeleted(p *part) (deleted int) {
	n := p.run.Len()
	p.run = s.entry.Mask().Keep(p.run)
	return n - p.run.Len()
}
