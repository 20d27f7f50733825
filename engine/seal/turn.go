package seal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"varve.dev/varve/engine/store"
)

// migrate continues tier migrations for a short time, once it has the shard's turn.
func (s *Shard) migrate(ctx context.Context) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return
	}
	s.blocks.Migrate(ctx)
}

// checkpoint waits for the shard's turn and a slot, runs f, and logs and counts an error of f.
func (s *Shard) checkpoint(ctx context.Context, f func(context.Context) error) {
	for _, place := range []chan struct{}{s.turn, s.cfg.Slots} {
		select {
		case place <- struct{}{}:
			defer func() { <-place }()
		case <-ctx.Done():
			return
		}
	}
	start := time.Now()
	err := f(ctx)
	s.cfg.Metrics.Duration.Observe(time.Since(start).Seconds())
	if err != nil && ctx.Err() == nil && !errors.Is(err, errSuperseded) {
		s.cfg.Metrics.Failures.Inc()
		s.cfg.Log.Warn("sealing a shard failed; the sealer retries", "shard", s.shardJournal.Shard, "err", err)
	}
}

// errEnded means that Run has ended.
var errEnded = errors.New("the engine no longer seals the shard")

// IsOver reports whether an error of Delete or Erase means that this engine no longer leads. Another engine may.
func IsOver(err error) bool { return errors.Is(err, errEnded) || errors.Is(err, errSuperseded) }

// Delete makes a checkpoint, and then deletes all stored rows of PVs. The last samples of
// these PVs must already be durable. Delete first waits until the engine leads: otherwise its checkpoint
// would write tiles beside those of another leader. It fails if that takes long.
func (s *Shard) Delete(ctx context.Context, pvs []string) error {
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
	if err := s.Checkpoint(ctx); err != nil {
		return err
	}
	if err := s.correctAll(ctx); err != nil {
		return err
	}
	if err := s.checkNotRefused(pvs); err != nil {
		return err // the samples would be sealed after the deletion
	}
	for _, pv := range pvs {
		s.forget(pv)
	}
	s.blocks.Forget(pvs)
	return inParallel(ctx, pvs, s.cfg.Store.Delete)
}

// DropBefore deletes the blocks of a PV in the buckets that end after the time after, and at
// or before the deletion cutoff. c is the directory entry of the PV. DropBefore returns how
// many of these buckets had blocks, and how many bytes the blocks took, even if it fails. Some
// buckets stay: see relocation.Shard.
func (s *Shard) DropBefore(ctx context.Context, c store.Channel, after, cutoff int64) (buckets int, bytes int64, err error) {
	d := s.blocks.PlanDeletion(c, after, cutoff)
	if d == nil {
		return 0, 0, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	if err := s.tiles.Correct(ctx, c.PV); err != nil { // it needs the blocks
		return 0, 0, fmt.Errorf("bringing rollups of %s up to date: %w", c.PV, err)
	}
	return d.Run(ctx)
}
