package engine

import (
	"context"
	"sync"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
)

// holding is a shard from the time it is first listed to the end of its release. Each
// holding has its own shard journal and thus its own claim. A shard that is listed again
// while an earlier claim is still open, because the store is unreachable, has two
// holdings. So a closed claim is never opened again, and the positions of a writer's rows
// only rise.
type holding struct {
	journal *journal.ShardJournal

	mu      sync.Mutex
	ordered bool               // the assignment orders this engine to seal
	orders  int                // counts changes of ordered
	sealing bool               // the current or next term seals; otherwise it follows
	endTerm context.CancelFunc // ends the current term
	sealer  *seal.Shard        // nil unless the term seals

	erasures erasures

	release  context.CancelFunc
	released context.Context // ended by release
}

func newHolding(shard int, cfg *journal.Config) *holding {
	h := &holding{journal: journal.NewShardJournal(shard, store.NewWriter(), cfg), endTerm: func() {}}
	h.released, h.release = context.WithCancel(context.Background())
	return h
}

// setSealing orders the engine to seal the shard or to stop sealing it. Only a change of
// the order has an effect. Later the leadership may pass to another engine through the
// store, or from an engine that died, without an order.
func (h *holding) setSealing(sealing bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ordered == sealing {
		return
	}
	h.ordered = sealing
	h.orders++
	if h.sealing != sealing {
		h.sealing = sealing
		h.endTerm()
	}
}

// sealerNow returns the sealer, or nil while the holding does not seal.
func (h *holding) sealerNow() *seal.Shard {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sealer
}

// shared reports whether other engines hold the shard: one of them seals it, or there are
// claims of live writers.
func (h *holding) shared() bool {
	s := h.sealerNow()
	return s == nil || s.Watching()
}

// run journals, and seals or follows, until the release. Then it makes every sample durable
// and closes the claim, until hard ends. It returns the number of samples that are not
// durable.
func (h *holding) run(hard context.Context, cfg *seal.Config) (unsaved int) {
	soft, flush := context.WithCancel(hard)
	defer flush()
	var journalling sync.WaitGroup
	journalling.Go(func() { unsaved = h.journal.Run(soft, hard) })
	for h.released.Err() == nil {
		h.runTerm(cfg)
	}
	flush()
	journalling.Wait()
	return unsaved
}

// runTerm seals or follows until the release or until the leadership passes to another engine,
// by an order or through the store. Each term has a new sealer, because an interrupted sealer
// does not know what it has written.
func (h *holding) runTerm(cfg *seal.Config) {
	ctx, end := context.WithCancel(h.released)
	defer end()
	s := seal.NewShard(h.journal, cfg)
	h.mu.Lock()
	h.endTerm = end
	sealing, orders := h.sealing, h.orders
	if sealing {
		h.sealer = s
	}
	h.mu.Unlock()
	var passed bool
	if sealing {
		passed = s.Run(ctx)
	} else {
		passed = s.Follow(ctx)
	}
	h.mu.Lock()
	h.sealer = nil
	if passed && h.orders == orders {
		h.sealing = !sealing
	}
	h.mu.Unlock()
	if passed {
		cfg.Log.Info("the leadership of a shard changed in the store", "shard", h.journal.Shard, "sealing", !sealing)
	}
}
