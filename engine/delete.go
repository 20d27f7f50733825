package engine

import (
	"context"
	"errors"
	"fmt"
)

// Errors of Delete.
var (
	// ErrCaptured is returned if a PV is still captured, because its data would come back.
	ErrCaptured = errors.New("the PV is being captured")
	// ErrNotSealing is returned if this engine does not seal the shard.
	ErrNotSealing = errors.New("the shard is not sealed by this engine")
	// ErrSpooled is returned if samples in the spool would bring data back.
	ErrSpooled = errors.New("samples of the shard wait in the spool")
)

// Delete deletes all stored data of PVs of a shard. Their capture must have ended. Delete
// first makes a checkpoint, so that no unsealed row brings samples back. It may be
// repeated, and must be repeated after an error.
//
// Another writer of the shard may still hold samples in memory and journal them later: an
// engine that has not yet been notified that the capture has ended, or a zombie. Such
// samples are stored as those of a new PV, which the directory lists until Delete is
// called again.
func (e *Engine) Delete(ctx context.Context, shard int, pvs []string) error {
	for _, pv := range pvs {
		if _, captured := e.capture.Shard(pv); captured {
			return fmt.Errorf("deleting %s: %w", pv, ErrCaptured)
		}
	}
	e.mu.RLock()
	h := e.held[shard]
	e.mu.RUnlock()
	if h == nil {
		return fmt.Errorf("deleting from shard %d: %w", shard, ErrNotSealing)
	}
	sealer := h.sealerNow()
	if sealer == nil {
		return fmt.Errorf("deleting from shard %d: %w", shard, ErrNotSealing)
	}
	// Marks of the PVs may still be queued.
	if err := e.marks.Sync(ctx); err != nil {
		return fmt.Errorf("deleting from shard %d: %w", shard, err)
	}
	if err := h.journal.Sync(ctx); err != nil {
		return fmt.Errorf("deleting from shard %d: %w", shard, err)
	}
	if e.spooledIn(shard) > 0 {
		return fmt.Errorf("deleting from shard %d: %w", shard, ErrSpooled)
	}
	if err := e.marks.Deleting(ctx, func() error { return sealer.Delete(ctx, pvs) }); err != nil {
		return err
	}
	return e.names.Forget(ctx, pvs)
}
