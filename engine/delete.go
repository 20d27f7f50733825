package engine

import (
	"context"
	"errors"
	"fmt"
)

// Errors of Delete.
var (
	// ErrCaptured: a PV is still captured, so its data would come back.
	ErrCaptured = errors.New("the PV is being captured")
	// ErrNotSealing: only an engine that seals a shard can delete from it.
	ErrNotSealing = errors.New("the shard is not sealed by this engine")
	// ErrSpooled: what waits in the spool would bring data back.
	ErrSpooled = errors.New("samples of the shard wait in the spool")
)

// Delete deletes everything that is stored of PVs of a shard, whose capture has
// ended. Before that it makes a checkpoint, so that no row that is not sealed yet
// brings samples back. It may be repeated, and must be after an error.
//
// What another writer of the shard holds in memory at that moment, it journals
// later: an engine that has not heard yet that the capture has ended, or a zombie.
// Such samples are stored as of a PV that begins anew, in the directory for all
// to see, until Delete is called again.
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
	// Marks of the PVs may wait to be written.
	if err := e.marks.Sync(ctx); err != nil {
		return fmt.Errorf("deleting from shard %d: %w", shard, err)
	}
	if err := h.shardJournal.Sync(ctx); err != nil {
		return fmt.Errorf("deleting from shard %d: %w", shard, err)
	}
	if e.spooledIn(shard) > 0 {
		return fmt.Errorf("deleting from shard %d: %w", shard, ErrSpooled)
	}
	return sealer.Delete(ctx, pvs)
}
