package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
)

// holding is a shard from its taking to its release. Each has a shardJournal, and so a
// claim, of its own: a shard that is taken again while the store is away, and the
// claim of the time before is still open, has two. So no claim is opened again
// once it was closed, and the rows of each have positions that rise.
type holding struct {
	shardJournal *journal.ShardJournal

	mu      sync.Mutex
	ordered bool               // to seal
	orders  int                // counts changes of that
	sealing bool               // seals, or is about to, and does not follow
	endTerm context.CancelFunc // ends what it does now
	sealer  *seal.Shard        // while it does seal

	release  context.CancelFunc
	released context.Context // ended by release
}

func newHolding(shard int, cfg *journal.Config) *holding {
	h := &holding{shardJournal: journal.NewShardJournal(shard, store.NewWriter(), cfg), endTerm: func() {}}
	h.released, h.release = context.WithCancel(context.Background())
	return h
}

// order says whether the engine is to seal the shard from now on. An order counts when it
// is given: later on the role may pass to another engine, or come from one that died.
func (h *holding) order(sealing bool) {
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
// claims of writers that live.
func (h *holding) shared() bool {
	s := h.sealerNow()
	return s == nil || s.Watching()
}

// run journals and seals, or follows, until the release. Then it makes every
// sample durable and closes the claim, for which it has until hard ends. It
// returns the number of samples that are not durable.
func (h *holding) run(hard context.Context, cfg *seal.Config) (unsaved int) {
	soft, flush := context.WithCancel(hard)
	defer flush()
	var journalling sync.WaitGroup
	journalling.Go(func() { unsaved = h.shardJournal.Run(soft, hard) })
	for h.released.Err() == nil {
		h.term(cfg)
	}
	flush()
	journalling.Wait()
	return unsaved
}

// term seals or follows until the role passes, by order or in the store, or until the
// release. A sealer is new in each term: one that was interrupted does not know what it
// has written.
func (h *holding) term(cfg *seal.Config) {
	ctx, end := context.WithCancel(h.released)
	defer end()
	s := seal.NewShard(h.shardJournal, cfg)
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
		cfg.Log.Info("the sealing of a shard passed in the store", "shard", h.shardJournal.Shard, "sealing", !sealing)
	}
}

// start keeps the holdings going that there are, and from now on each that is
// made, as goroutines of wg. The count is of samples that were lost at the end.
func (e *Engine) start(hard context.Context, wg *sync.WaitGroup) (unsaved *atomic.Int64) {
	unsaved = new(atomic.Int64)
	e.applying.Lock()
	defer e.applying.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begin = func(h *holding) {
		wg.Go(func() {
			n := h.run(hard, e.sealCfg)
			unsaved.Add(int64(n))
			if n == 0 {
				e.drop(h)
			}
		})
	}
	for _, h := range e.held {
		e.begin(h)
	}
	for _, h := range e.leaving {
		e.begin(h)
	}
	return unsaved
}

// stop ends the capture and releases all shards.
func (e *Engine) stop() {
	e.applying.Lock()
	defer e.applying.Unlock()
	e.capture.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	for shard := range e.held {
		e.leave(shard)
	}
}

// leave releases a shard. It needs the lock.
func (e *Engine) leave(shard int) {
	h := e.held[shard]
	delete(e.held, shard)
	e.leaving = append(e.leaving, h)
	h.release()
}
