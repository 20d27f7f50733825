package engine

import (
	"maps"
	"slices"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/seal"
	"varve.dev/varve/engine/store"
)

// Shard defines what an engine does with one shard.
type Shard struct {
	// Channels are the channels to capture. A shard without channels is still held.
	Channels []capture.Channel
	// Seal means that this engine turns the journal of the shard into blocks: its own rows and
	// those of other engines. Otherwise the engine only journals, and it drops samples from
	// memory once another engine has sealed them.
	Seal bool
	// Left are PVs that leave the shard, or left it recently. If another writer of the shard has died,
	// its samples of these PVs may be missing too.
	Left []Left
	// MarkRemoved means that channels that were captured in the shard, and are now in no shard of
	// the assignment, are in no group any more. The engine marks that. It cannot know this
	// itself, because a channel that it no longer has to capture may have moved to another engine.
	MarkRemoved bool
}

// Left are PVs that other shards capture now.
type Left struct {
	PVs []string
	// Unknown means that the PVs could not be read yet. No death is marked in the shard until they are.
	Unknown bool
	// At is when the engines of the shard were told to stop capturing the PVs, in ns since 1970. Other
	// shards had captured them for some time then. It is 0 if the shard still captures them.
	At int64
}

// Assignment has the shards that an engine holds, by number.
type Assignment map[int]Shard

// Apply makes the engine hold exactly the shards of an assignment. The engine claims new
// shards and releases shards that are no longer listed. To release a shard, it ends the
// capture without a mark, because another engine continues it; only Shard.MarkRemoved allows a
// mark. It then makes the samples
// durable and closes the claim. If the store is unreachable, a release lasts until the store
// is reachable again. A shard may be listed again at any time. A PV that moves to another
// shard keeps its subscription.
func (e *Engine) Apply(a Assignment) {
	e.compared.Do(e.compareClock)
	e.applying.Lock()
	defer e.applying.Unlock()
	if e.ended {
		return
	}
	fresh := e.addHoldings(a)
	channels := make(capture.Assignment, len(a))
	for shard, s := range a {
		channels[shard] = s.Channels
	}
	for _, c := range e.capture.Apply(channels) {
		if a[c.Shard].MarkRemoved {
			e.marks.Add(c.PV, sample.Mark{Time: c.Time, Kind: sample.Removed, Text: c.Group})
		}
	}
	e.applyNames(a)
	for _, h := range fresh {
		e.markTaken(h.journal.Shard, a[h.journal.Shard].Channels)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for shard, h := range e.held {
		if s, listed := a[shard]; listed {
			h.setSealing(s.Seal)
		} else {
			e.releaseLocked(shard)
		}
	}
	// This comes last, because a sealer that finds a dead writer marks the captured channels.
	for _, h := range fresh {
		if e.runHolding != nil {
			e.runHolding(h)
		}
	}
}

// addHoldings creates holdings for the shards that have none, and returns them.
func (e *Engine) addHoldings(a Assignment) (fresh []*holding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left = make(map[int][]Left, len(a)) // first: at each moment a PV is in a shard, or has left it
	for shard := range a {
		e.left[shard] = a[shard].Left
		if e.held[shard] == nil {
			h := newHolding(shard, e.journalConfig)
			e.held[shard] = h
			fresh = append(fresh, h)
		}
	}
	return fresh
}

// shardJournal returns the journal of a shard that is held.
func (e *Engine) shardJournal(shard int) *journal.ShardJournal {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.held[shard].journal
}

// releaseLocked releases a shard.
func (e *Engine) releaseLocked(shard int) {
	h := e.held[shard]
	delete(e.held, shard)
	e.leaving = append(e.leaving, h)
	h.release()
}

// forgetHolding removes a holding whose claim is closed. No reader uses it during the call.
func (e *Engine) forgetHolding(h *holding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leaving = slices.DeleteFunc(e.leaving, func(o *holding) bool { return o == h })
	h.journal.Forget()
}

// allLocked yields all holdings.
func (e *Engine) allLocked(yield func(*holding) bool) {
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

// owns reports whether a writer ID belongs to a holding or to the spool.
func (e *Engine) owns(w store.WriterID) bool {
	if e.opts.Spool != nil && e.opts.Spool.Owns(w) {
		return true
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	for h := range e.allLocked {
		if h.journal.Writer() == w {
			return true
		}
	}
	return false
}

// Held returns, sorted, the shards that are listed, those that are being released, and
// those with samples in the spool.
func (e *Engine) Held() []int {
	e.mu.RLock()
	defer e.mu.RUnlock()
	shards := map[int]bool{}
	if e.opts.Spool != nil {
		for _, shard := range e.opts.Spool.Shards() {
			shards[shard] = true
		}
	}
	for h := range e.allLocked {
		shards[h.journal.Shard] = true
	}
	return slices.Sorted(maps.Keys(shards))
}

// Waiting returns the shards with overdue samples that the store has not accepted yet, and the
// minimum time for which they have been waiting.
func (e *Engine) Waiting() map[int]time.Duration {
	waiting := map[int]time.Duration{}
	e.mu.RLock()
	for h := range e.allLocked {
		if h.journal.Failing() && h.journal.Unsaved() > 0 {
			waiting[h.journal.Shard] = 0
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
	for shard := range e.sealersLocked {
		sealing[shard] = true
	}
	return sealing
}

// sealersLocked yields the shards that this engine seals, with their sealers.
func (e *Engine) sealersLocked(yield func(int, *seal.Shard) bool) {
	for shard, h := range e.held {
		if s := h.sealerNow(); s != nil && !yield(shard, s) {
			return
		}
	}
}

// SealingLag returns how far the sealing of a shard is behind the journal, at most, and how many
// shards are late.
func (e *Engine) SealingLag() (worst seal.Lag, late int) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.sealingLagLocked()
}

func (e *Engine) sealingLagLocked() (worst seal.Lag, late int) {
	for _, s := range e.sealersLocked {
		l := s.Lag()
		if l.Late() {
			late++
		}
		if l.Age >= worst.Age {
			worst = l
		}
	}
	return worst, late
}

// Damaged returns the blocks and journal rows that the sealers of this engine found damaged since its
// start.
func (e *Engine) Damaged() seal.Found { return e.sealCfg.Found().Found() }

// ShardStatus is the state of a shard in an engine.
type ShardStatus struct {
	capture.ShardStatus
	// Held means that Engine.Held lists the shard.
	Held bool
	// Claimed means that the claim is in the store, so readers find the rows.
	Claimed bool
	// Sealing means that this engine seals the shard.
	Sealing bool
	// Unsaved counts the samples that the store has not acknowledged yet.
	Unsaved int
}

// ShardStatus returns the current state of a shard.
func (e *Engine) ShardStatus(shard int) ShardStatus {
	s := ShardStatus{ShardStatus: e.capture.ShardStatus(shard), Unsaved: e.spooledIn(shard)}
	s.Held = s.Unsaved > 0
	e.mu.RLock()
	defer e.mu.RUnlock()
	for h := range e.allLocked {
		if h.journal.Shard == shard {
			s.Held = true
			s.Unsaved += h.journal.Unsaved()
		}
	}
	if h := e.held[shard]; h != nil {
		s.Sealing = h.sealerNow() != nil
		select {
		case <-h.journal.Claimed():
			s.Claimed = true
		default:
		}
	}
	return s
}
