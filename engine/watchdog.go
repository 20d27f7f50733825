package engine

import (
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/watchdog"
)

// addWatchdog creates the watchdog. The watchdog resubscribes channels that are silent while
// another engine receives samples.
func (e *Engine) addWatchdog() {
	e.watchdog = watchdog.New(watchdog.Config{
		Statuses: e.capture.Statuses, Shared: e.shared, Last: e.sealCfg.Last, Every: e.opts.Checkpoint,
		Resubscribe: func(pv string, stored *sample.Run, done func()) {
			e.capture.Doubt(pv, stored, "silent while another engine got samples: resubscribed", done)
		},
		Registerer: e.opts.Registerer, Log: e.opts.Log,
	})
}

// shared reports whether other engines also hold the shard of a PV, as far as is known.
func (e *Engine) shared(pv string) bool {
	shard, captured := e.capture.Shard(pv)
	if !captured {
		return false
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	h := e.held[shard]
	return h != nil && h.shared()
}
