package engine

import (
	"varve.dev/varve/engine/guard"
	"varve.dev/varve/engine/seal"
)

// watchDisks makes the disk guard, which sealers follow.
func (e *Engine) watchDisks() {
	e.guard = guard.New(guard.Config{
		Store: e.opts.Store, Limits: guard.Limits{Bytes: e.opts.DiskLimit}, Shards: e.opts.Shards, Engine: e.writer,
		Sealers: e.sealers, Captured: e.capture.Shard, Reclaim: e.opts.Reclaim, Registerer: e.opts.Registerer, Log: e.opts.Log,
	})
	e.sealCfg.Cutoff = e.guard.Cutoff
}

var _ guard.Sealer = (*seal.Shard)(nil)

// sealers returns those of the shards that are sealed now.
func (e *Engine) sealers() map[int]guard.Sealer {
	e.mu.RLock()
	defer e.mu.RUnlock()
	out := map[int]guard.Sealer{}
	for shard, s := range e.sealed {
		out[shard] = s
	}
	return out
}

// DiskGuard returns what the disk guard of this engine does; its Reason is empty while
// another engine decides.
func (e *Engine) DiskGuard() guard.Status { return e.guard.Status() }
