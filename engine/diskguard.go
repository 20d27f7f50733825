package engine

import (
	"varve.dev/varve/engine/guard"
	"varve.dev/varve/engine/seal"
)

// addDiskGuard creates the disk guard. Sealers apply its decisions.
func (e *Engine) addDiskGuard() {
	e.guard = guard.New(guard.Config{
		Limits: guard.Limits{Bytes: e.opts.DiskLimit, Youngest: e.opts.DiskKeep, WarnOnly: e.opts.DiskWarnOnly},
		Store:  e.opts.Store, Clock: e.clock, Shards: e.opts.Shards, Engine: e.writer,
		Sealers: e.sealers, Captured: e.capture.Shard, Reclaim: e.opts.Reclaim, Registerer: e.opts.Registerer, Log: e.opts.Log,
	})
	e.sealCfg.Cutoff = e.guard.Cutoff
}

var _ guard.Sealer = (*seal.Shard)(nil)

// sealers returns the sealers of the shards that this engine seals now.
func (e *Engine) sealers() map[int]guard.Sealer {
	e.mu.RLock()
	defer e.mu.RUnlock()
	out := map[int]guard.Sealer{}
	for shard, s := range e.sealersLocked {
		out[shard] = s
	}
	return out
}

// DiskGuard returns the status of this engine's disk guard. Its Reason is empty while the
// guard of another engine decides.
func (e *Engine) DiskGuard() guard.Status { return e.guard.Status() }
