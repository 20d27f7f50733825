package engine

import (
	"context"
	"iter"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Busy reports whether memory is short, so that readers are to do without this engine.
func (e *Engine) Busy() bool { return e.memory.Used() > e.memory.Limit()/2 }

// Recent implements query.Recent. The engine knows only in which shard it captures a PV
// now: samples of one that it has given up may wait in its spool, and are found if the
// question names it.
func (e *Engine) Recent(_ context.Context, q query.RecentRequest) query.Held {
	shard, captured := e.capture.Shard(q.PV)
	held := query.Held{Known: captured}
	if captured {
		held.Shards = []int{shard}
	}
	e.addShardJournals(&held, q.PV)
	e.addSpooled(&held, &q)
	held.Known = held.Known || len(held.Runs) > 0 || held.Missing != nil
	return held
}

// addShardJournals adds what the shardJournals hold of a PV.
func (e *Engine) addShardJournals(held *query.Held, pv string) {
	// The lock is kept until all is copied: a shardJournal that is being released forgets
	// its samples when nobody can count on it to hold them.
	e.mu.RLock()
	defer e.mu.RUnlock()
	for h := range e.all {
		held.Covers = append(held.Covers, h.shardJournal.Writer())
		held.Runs = append(held.Runs, h.shardJournal.Recent(pv)...)
	}
}

// Status returns a snapshot of a PV that is captured. It never fails.
func (e *Engine) Status(_ context.Context, pv string) (capture.Status, bool, error) {
	s, captured := e.capture.Status(pv)
	return s, captured, nil
}

// Statuses yields snapshots of all PVs that are captured, sorted by name. It never
// fails.
func (e *Engine) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		for s := range e.capture.Statuses() {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Summary is what became of all samples since the start.
type Summary struct {
	capture.Totals
	// Stored samples are acknowledged by the store, and not expired before they were
	// sealed; Pending ones are in memory only.
	Stored, Pending uint64
	// Spooled samples wait on disk, also those of processes before: of its own, the
	// Pending ones have them, too.
	Spooled int
	// JournalBytes are acknowledged.
	JournalBytes uint64
	// MemoryBytes are taken by samples that are in no block yet.
	MemoryBytes int64
}

// Unsaved counts the samples that the store has not acknowledged yet: those in
// memory, and those of this process in the spool.
func (e *Engine) Unsaved() int { return e.inMemory() + int(e.spooled().Kept) }

// inMemory counts the samples that are neither in the store nor in the spool.
func (e *Engine) inMemory() (n int) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for h := range e.all {
		n += h.shardJournal.Unsaved()
	}
	return n
}

// Storage says, in a stable text that begins with a word for programs, why the
// store does not take samples; it is empty while it does. The log has more.
func (e *Engine) Storage() string {
	if p, ok := e.opts.Store.(*store.Pending); ok && p.State() != "" {
		return p.State()
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	for h := range e.all {
		if !h.shardJournal.Failing() {
			continue
		}
		if s := e.opts.Spool; s != nil && s.Failure() != nil {
			return "SpoolFailing: neither the store nor the spool takes samples"
		}
		return "StorageAway: the store does not take samples"
	}
	return ""
}

// Summary counts anew. Received = Stored + Pending + the sum of Dropped, but for
// samples held back until their scan time, and for what moves while it counts.
func (e *Engine) Summary() Summary {
	s := Summary{Totals: e.capture.Totals(), MemoryBytes: e.memory.Used()}
	s.Pending = uint64(e.Unsaved())
	s.Stored, s.JournalBytes = e.journal.Samples.Load(), e.journal.Bytes.Load()
	s.Stored -= min(s.Stored, s.Dropped[sample.Expired])
	s.Dropped[sample.Overflow] += e.journal.Dropped.Load()
	spooled := e.spooled()
	s.Stored += spooled.Sent
	s.Dropped[sample.Overflow] += spooled.Dropped
	s.Spooled = spooled.Waiting
	return s
}
