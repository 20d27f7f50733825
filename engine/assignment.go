package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
)

// Shard is what an engine is to do with one shard.
type Shard struct {
	// Channels are captured. With none the shard stays held.
	Channels []capture.Channel
	// Seal says that this engine turns the journal of the shard into blocks, its
	// own rows and those of others. Without it the engine journals only, and gives
	// up samples when another has sealed them.
	Seal bool
}

// Assignment is all that an engine is to hold, by index of the shard.
type Assignment map[int]Shard

// Apply makes an assignment the one that is held. Shards that are new in it are
// claimed. Those no longer listed are released: their capture ends, without a
// mark, as another engine goes on with it; what they hold is made durable, and
// their claims are closed, which takes as long as the store is away. A shard may
// be listed again at any time. A PV that moves from one shard to another keeps
// its subscription.
func (e *Engine) Apply(a Assignment) {
	e.applying.Lock()
	defer e.applying.Unlock()
	if e.ended {
		return
	}
	fresh := e.take(a)
	channels := make(capture.Assignment, len(a))
	for shard, s := range a {
		channels[shard] = s.Channels
	}
	e.capture.Apply(channels)
	e.mu.Lock()
	defer e.mu.Unlock()
	for shard, h := range e.held {
		if s, listed := a[shard]; listed {
			h.order(s.Seal)
		} else {
			e.leave(shard)
		}
	}
	// Only now: a sealer that finds a dead writer marks the channels captured.
	for _, h := range fresh {
		if e.begin != nil {
			e.begin(h)
		}
	}
}

// take makes holdings for the shards that have none, and returns them.
func (e *Engine) take(a Assignment) (fresh []*holding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for shard := range a {
		if e.held[shard] == nil {
			h := newHolding(shard, e.shardJournalConfig)
			e.held[shard] = h
			fresh = append(fresh, h)
		}
	}
	return fresh
}

// shardJournal returns the shardJournal of a shard that is held.
func (e *Engine) shardJournal(shard int) *journal.ShardJournal {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.held[shard].shardJournal
}

// drop ends a holding whose claim is closed. Nobody looks at it meanwhile.
func (e *Engine) drop(h *holding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leaving = slices.DeleteFunc(e.leaving, func(o *holding) bool { return o == h })
	h.shardJournal.Forget()
}

// all yields all holdings. It needs the lock.
func (e *Engine) all(yield func(*holding) bool) {
	for _, h := range e.held {
		if !yield(h) {
			return
		}
	}
	for _, h := range e.leaving {
		if !yield(h) {
			return
		}
	}
}

// holds reports whether a writer is that of a holding, or of the spool.
func (e *Engine) holds(w store.WriterID) bool {
	if e.opts.Spool != nil && e.opts.Spool.Owns(w) {
		return true
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	for h := range e.all {
		if h.shardJournal.Writer() == w {
			return true
		}
	}
	return false
}

// Held returns, sorted, the shards that are listed, those that were and are not
// flushed and closed yet, and those of which samples wait in the spool.
func (e *Engine) Held() []int {
	e.mu.RLock()
	defer e.mu.RUnlock()
	shards := map[int]bool{}
	if e.opts.Spool != nil {
		for _, shard := range e.opts.Spool.Shards() {
			shards[shard] = true
		}
	}
	for h := range e.all {
		shards[h.shardJournal.Shard] = true
	}
	return slices.Sorted(maps.Keys(shards))
}

// Waiting returns the shards of which samples wait here that the store did not take when
// they were due, and for how long at least.
func (e *Engine) Waiting() map[int]time.Duration {
	waiting := map[int]time.Duration{}
	e.mu.RLock()
	for h := range e.all {
		if h.shardJournal.Failing() && h.shardJournal.Unsaved() > 0 {
			waiting[h.shardJournal.Shard] = 0
		}
	}
	e.mu.RUnlock()
	if e.opts.Spool != nil {
		age := e.opts.Spool.OldestAge()
		for _, shard := range e.opts.Spool.Shards() {
			waiting[shard] = age
		}
	}
	return waiting
}

// Sealing returns the shards that this engine seals now.
func (e *Engine) Sealing() map[int]bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	sealing := make(map[int]bool, len(e.held))
	for shard := range e.sealed {
		sealing[shard] = true
	}
	return sealing
}

// sealed yields the shards that are sealed here, with their sealers. It needs the lock.
func (e *Engine) sealed(yield func(int, *seal.Shard) bool) {
	for shard, h := range e.held {
		if s := h.sealerNow(); s != nil && !yield(shard, s) {
			return
		}
	}
}

// ShardStatus is what an engine does with a shard.
type ShardStatus struct {
	capture.ShardStatus
	// Held, as Engine.Held has it.
	Held bool
	// Claimed says that the claim stands in the store: others can find the rows.
	Claimed bool
	// Sealing says that the shard is being sealed by this engine.
	Sealing bool
	// Unsaved counts the samples that the store has not acknowledged yet.
	Unsaved int
}

// ShardStatus counts anew.
func (e *Engine) ShardStatus(shard int) ShardStatus {
	s := ShardStatus{ShardStatus: e.capture.ShardStatus(shard), Unsaved: e.spooledIn(shard)}
	s.Held = s.Unsaved > 0
	e.mu.RLock()
	defer e.mu.RUnlock()
	for h := range e.all {
		if h.shardJournal.Shard == shard {
			s.Held = true
			s.Unsaved += h.shardJournal.Unsaved()
		}
	}
	if h := e.held[shard]; h != nil {
		s.Sealing = h.sealerNow() != nil
		select {
		case <-h.shardJournal.Claimed():
			s.Claimed = true
		default:
		}
	}
	return s
}

// died marks, for each PV of a shard, that the writer before ended without
// closing: between two times (ns since 1970) samples may be missing. A PV that
// this engine had connected all the time misses none.
func (e *Engine) died(ctx context.Context, shard int, from, to int64) error {
	var marks []store.PVMark
	for _, pv := range e.capture.InShard(shard) {
		if s, ok := e.capture.Status(pv); ok && s.State == capture.Connected && s.Since <= from {
			continue
		}
		marks = append(marks, store.PVMark{PV: pv, Writer: e.writer, Mark: sample.Mark{Time: from, End: to, Kind: sample.Died}})
	}
	for chunk := range slices.Chunk(marks, 500) {
		if err := e.opts.Store.PutMarks(ctx, chunk...); err != nil {
			return err
		}
	}
	return nil
}
