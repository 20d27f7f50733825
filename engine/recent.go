package engine

import (
	"context"
	"errors"
	"iter"
	"slices"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Busy reports whether memory is short, so that readers should use the journal instead of
// this engine.
func (e *Engine) Busy() bool { return e.memory.Used() > e.memory.Limit()/2 }

// Recent implements query.Recent. The engine knows only the shard in which it captures a
// PV now. Samples of a shard that it has released may wait in its spool; Recent finds them
// if the request names that shard.
func (e *Engine) Recent(_ context.Context, q query.RecentRequest) query.Held {
	held := e.capturedIn(q.PV)
	// Samples of a shard in which the PV was before may be in the spool: see hidesSpooled.
	_, held.Connected = e.capture.ConnectedSince(q.PV)
	e.addShardJournals(&held, &q)
	e.addSpooled(&held, &q)
	held.Known = held.Known || len(held.Runs) > 0 || held.Missing != nil
	return held
}

// capturedIn returns the shard in which the engine captures a PV.
func (e *Engine) capturedIn(pv string) (held query.Held) {
	shard, captured := e.capture.Shard(pv)
	if captured {
		held.Known, held.Shards = true, []int{shard}
	}
	return held
}

// addShardJournals adds the samples of a PV in the shard journals.
func (e *Engine) addShardJournals(held *query.Held, q *query.RecentRequest) {
	// The lock is held until all samples are copied: a shard journal that is being released
	// forgets its samples only when no reader relies on it.
	e.mu.RLock()
	defer e.mu.RUnlock()
	for h := range e.allLocked {
		w := h.journal.Writer()
		held.Runs = append(held.Runs, h.journal.Recent(q.PV, q.From, q.To)...)
		switch _, _, some := h.journal.Released(); {
		case e.hidesSpooled(h.journal.Shard, held, q): // asked after memory was read, from which samples move to the spool
			held.Flushed = append(held.Flushed, query.Flushed{Writer: w, Until: h.journal.SavedUntil()})
		case some: // samples that are not in memory are in the journal
			held.Flushed = append(held.Flushed, query.Flushed{Writer: w, Until: query.Latest})
		default:
			held.Covers = append(held.Covers, w)
		}
	}
}

// hidesSpooled reports whether samples of a shard wait in the spool and addSpooled does not read them,
// because the request does not name the shard. They may be samples of the PV, if it was in the shard a moment
// ago.
func (e *Engine) hidesSpooled(shard int, held *query.Held, q *query.RecentRequest) bool {
	return e.opts.Spool != nil && e.opts.Spool.Waits(shard) && !slices.Contains(e.spoolShards(held, q), shard)
}

// Flushed answers a request for recent samples without samples, when memory is short. It says
// how far the samples of each writer are in the journal.
func (e *Engine) Flushed(q query.RecentRequest) query.Held {
	held := e.capturedIn(q.PV)
	held.Unanswered = true
	e.mu.RLock()
	defer e.mu.RUnlock()
	for h := range e.allLocked {
		held.Flushed = append(held.Flushed, query.Flushed{Writer: h.journal.Writer(), Until: h.journal.SavedUntil()})
	}
	e.checkSpool(&held, &q)
	return held
}

// Status returns a snapshot of a captured PV. It never fails.
func (e *Engine) Status(_ context.Context, pv string) (capture.Status, bool, error) {
	s, captured := e.capture.Status(pv)
	return s, captured, nil
}

// Statuses yields snapshots of all captured PVs, sorted by name. It never fails.
func (e *Engine) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		for s := range e.capture.Statuses() {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Summary counts what happened to all samples since the start.
type Summary struct {
	capture.Totals
	// Stored samples are acknowledged by the store and did not expire before they were
	// sealed. Pending samples are not acknowledged yet.
	Stored, Pending uint64
	// Spooled samples wait on disk. They include samples of earlier processes. Those of
	// this process also count as Pending.
	Spooled int
	// JournalBytes is the size of acknowledged journal rows.
	JournalBytes uint64
	// MemoryBytes is the memory of samples that are in no block yet, and of blocks that still grow.
	MemoryBytes int64
}

// Unsaved counts the samples that the store has not acknowledged yet: those in memory, and
// those of this process in the spool.
func (e *Engine) Unsaved() int { return e.inMemory() + int(e.spooled().Kept) }

// inMemory counts the samples that are neither in the store nor in the spool.
func (e *Engine) inMemory() (n int) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for h := range e.allLocked {
		n += h.journal.Unsaved()
	}
	return n
}

// Storage returns why the store does not accept samples, or "" while it does. The text is
// stable and begins with a machine-readable word. The log has details.
func (e *Engine) Storage() string {
	if p, ok := e.opts.Store.(*store.Pending); ok && p.State() != "" {
		return p.State()
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	for h := range e.allLocked {
		failure := h.journal.Failure()
		if failure == nil {
			continue
		}
		if s := e.opts.Spool; s != nil && s.Failure() != nil {
			return "SpoolFailing: neither the store nor the spool accepts samples"
		}
		if errors.Is(failure, store.ErrDiskFull) {
			return "DiskFull: the disk of the archive is nearly full"
		}
		return "StorageAway: the store does not accept samples"
	}
	return ""
}

// Summary returns the current counts. Received = Stored + Pending + the sum of Dropped, apart
// from samples held back until their scan time, and from samples that move during the call.
func (e *Engine) Summary() Summary {
	s := Summary{Totals: e.capture.Totals(), MemoryBytes: e.memory.Used()}
	s.Pending = uint64(e.Unsaved())
	s.Stored, s.JournalBytes = e.journalMetrics.Samples.Load(), e.journalMetrics.Bytes.Load()
	s.Stored -= min(s.Stored, s.Dropped[sample.Expired])
	s.Dropped[sample.Overflow] += e.journalMetrics.Dropped.Load()
	spooled := e.spooled()
	s.Stored += spooled.Sent
	s.Dropped[sample.Overflow] += spooled.Dropped
	s.Spooled = spooled.Waiting
	return s
}
