package journal

import (
	"context"
	"math/rand/v2"
	"time"

	"varve.dev/varve/engine/retry"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Run claims the shard and journals its heads until ctx ends. Then it flushes once more, waits until
// the spool has sent the rows of the shard, and closes the claim, unless Abandon was called. While the
// store is unreachable, it tries until hard ends. It returns the number of samples that are neither in an acknowledged row
// nor in the spool. No sample may be appended after ctx has ended.
func (j *ShardJournal) Run(ctx, hard context.Context) (unsaved int) {
	defer close(j.ended)
	defer j.dropPending()
	if !j.openClaim(ctx) {
		if j.claim.Epoch == 0 && j.Unsaved() == 0 {
			return 0 // nothing was ever written
		}
		if !j.retry(hard, "claiming a shard", j.insertClaim, j.shouldSpool) {
			return j.spoolRest(hard)
		}
	}
	close(j.claimed)
	j.journalUntil(ctx)
	j.flush(hard)
	if n := j.spoolRest(hard); n > 0 {
		return n
	}
	if !j.awaitSpool(hard) {
		return 0 // the claim stays open, so that the loss of the spool is marked
	}
	if j.abandoned.Load() {
		j.claim.Sealing = store.Follows // so that another engine can lead at once
	} else {
		j.claim.Closed = true
	}
	j.retry(hard, "closing a claim", j.putClaim, never)
	return 0
}

// Abandon notes that no other engine is known to capture the shard after this one. Run then leaves the claim
// open, with the time up to which all samples are saved. So the next engine takes this one for dead, and marks
// the time without an engine. Abandon must be called before ctx of Run ends.
func (j *ShardJournal) Abandon() { j.abandoned.Store(true) }

// openClaim inserts the claim. It reports false if ctx ended first.
func (j *ShardJournal) openClaim(ctx context.Context) bool {
	for ctx.Err() == nil {
		if j.retry(ctx, "claiming a shard", j.insertClaim, j.shouldSpool) || j.spoolDue && j.spoolUntilClaimed(ctx) {
			return true
		}
	}
	return false
}

// journalUntil flushes and renews the claim until ctx ends.
func (j *ShardJournal) journalUntil(ctx context.Context) {
	timer := time.NewTimer(rand.N(j.cfg.Flush)) // spreads the flushes of an engine's shard journals
	defer timer.Stop()
	var synced []chan<- struct{} // closed after the next flush that reaches the store
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-timer.C:
		case s := <-j.syncs:
			synced = append(synced, s)
		case r := <-j.sealingRequests:
			j.claim.Sealing = r.term
			r.done <- j.attempt(ctx, j.putClaim)
		}
		start := time.Now()
		wait := j.cfg.Flush
		if len(synced) > 0 {
			if j.flush(ctx) {
				for _, s := range synced {
					close(s)
				}
				synced = nil
			}
		} else if j.pass(ctx) {
			wait = 0
		}
		if j.spoolDue {
			j.spoolUntilClaimed(ctx)
			wait = 0
		}
		if ctx.Err() == nil && j.boot()-j.renewed > RenewEvery {
			j.logResult("renewing a claim", j.attempt(ctx, j.putClaim))
		}
		timer.Reset(max(0, wait-time.Since(start)))
	}
}

// insertClaim inserts a claim with a higher epoch than all earlier claims of the shard.
func (j *ShardJournal) insertClaim(ctx context.Context) error {
	if j.claim.Epoch == 0 {
		claims, err := j.cfg.Store.Claims(ctx, j.Shard)
		if err != nil {
			return err
		}
		for _, c := range claims {
			j.claim.Epoch = max(j.claim.Epoch, c.Epoch)
		}
		j.claim.Epoch++
		j.claim.Since = j.Since() // samples may have arrived long before the store answers
	}
	return j.putClaim(ctx)
}

func (j *ShardJournal) putClaim(ctx context.Context) error {
	begun := j.boot()
	j.claim.Alive, j.claim.Saved, j.claim.Last = time.Now().UnixNano(), j.SavedUntil(), j.Acked()
	err := j.cfg.Store.PutClaim(ctx, j.claim)
	if err == nil {
		j.renewed = begun
	}
	return err
}

// flush writes rows until the heads have no new samples. It reports false if ctx ended
// first, or if the rest must go to the spool.
func (j *ShardJournal) flush(ctx context.Context) bool {
	for j.pass(ctx) && ctx.Err() == nil && !j.spoolDue {
	}
	return ctx.Err() == nil && !j.spoolDue
}

// pass writes the new samples of the heads, at most one row from each, unless ctx ends or the
// rest must go to the spool. more is true if the heads have further new samples.
func (j *ShardJournal) pass(ctx context.Context) (more bool) {
	begun, dirty := j.now(), j.takeDirty()
	j.behind = false
	for {
		if j.pending == nil {
			if dirty = j.buildRow(ctx, dirty); j.pending == nil {
				break
			}
			j.pending.At = j.nextPosition(j.pending.built)
		}
		if !j.retry(ctx, "writing a journal row", j.send, j.shouldSpool) {
			break
		}
		j.shed()
	}
	if j.pending == nil && len(dirty) == 0 && !j.behind && !j.spoolDue && !j.spooled() {
		j.saved.Store(&begun)
	}
	j.redirty(dirty)
	if !j.spoolDue { // the spool frees memory
		j.shed() // even if nothing was sent
	}
	return j.behind
}

// pendingRow is a row whose bytes no longer change. pass sets its position just before it
// sends the row to the store.
type pendingRow struct {
	store.JournalRow
	heads   []*Head
	samples int
	built   time.Time
}

// buildRow builds the next row, without a position, from the due samples of dirty heads,
// and returns the heads that did not fit. It leaves j.pending nil if nothing is due, or
// if ctx has ended.
func (j *ShardJournal) buildRow(ctx context.Context, dirty []*Head) []*Head {
	now := time.Now()
	j.row.reset(j.now().Begin)
	var heads []*Head
	for len(dirty) > 0 && len(j.row.body) < j.cfg.RowBytes {
		h, before := dirty[0], j.row.count
		if h.large() && !j.takeTurn(ctx, len(heads) == 0) {
			break
		}
		more, later := h.flush(&j.row, j.cfg.RowBytes, &j.scratch)
		if !more {
			dirty = dirty[1:]
		}
		j.behind = j.behind || later
		if j.row.count > before {
			heads = append(heads, h)
		}
	}
	if len(heads) == 0 {
		return dirty
	}
	index, blob := j.row.finish()
	j.mem.add(int64(len(blob)))
	j.pending = &pendingRow{heads: heads, built: now, samples: j.row.samples, JournalRow: store.JournalRow{
		Shard: j.Shard, Writer: j.writer, Index: index, Blob: blob,
	}}
	return dirty
}

// takeTurn takes a turn to have a large row under way. If no turn is free and wait is true, it
// waits for one, and keeps memory within its limit while it waits. It returns false if it got
// no turn.
func (j *ShardJournal) takeTurn(ctx context.Context, wait bool) bool {
	for !j.turn {
		select {
		case j.mem.turns <- struct{}{}:
			j.turn = true
			continue
		default:
		}
		if !wait {
			return false
		}
		select {
		case j.mem.turns <- struct{}{}:
			j.turn = true
		case <-ctx.Done():
			return false
		case <-time.After(time.Second):
			j.updateMemory()
			j.shed()
		}
	}
	return true
}

// dropPending releases the pending row, its memory and its turn.
func (j *ShardJournal) dropPending() {
	if j.pending != nil {
		j.mem.add(-int64(len(j.pending.Blob)))
		j.pending = nil
	}
	if j.turn {
		<-j.mem.turns
		j.turn = false
	}
}

// nextPosition returns the position of the next row. No row was ever sent under it. A new
// partition begins only after the latest row was acknowledged.
func (j *ShardJournal) nextPosition(now time.Time) store.Position {
	held := j.Acked().N() == j.sent.N()
	if j.sent == 0 || held && (now.Sub(j.partSince) > partitionAge || j.partBytes > partitionBytes) {
		j.partSince, j.partBytes = now, 0
		j.sent = store.At(j.sent.N()+1, 1)
	} else {
		j.sent++
	}
	return j.sent
}

// send writes the pending row and notifies its heads.
func (j *ShardJournal) send(ctx context.Context) error {
	p := j.pending
	start := time.Now()
	if err := j.cfg.Store.PutJournal(ctx, p.JournalRow); err != nil {
		return err
	}
	// After a long silence another engine may have taken this writer for dead and dropped its
	// claim. Readers find no row without a claim.
	if j.boot()-j.renewed > 2*RenewEvery {
		if err := j.putClaim(ctx); err != nil {
			return err
		}
	}
	for _, h := range p.heads {
		h.ack(p.At)
	}
	j.acked.Store(uint64(p.At))
	j.partBytes += len(p.Index) + len(p.Blob)
	j.written.Add(uint64(len(p.Index) + len(p.Blob)))
	j.dropPending()
	j.cfg.Metrics.row(p, start)
	return nil
}

// retry calls f until it succeeds, ctx ends, or enough returns true after a failure. The
// delays between the calls grow. After each failure retry keeps memory within its limit.
func (j *ShardJournal) retry(ctx context.Context, what string, f func(context.Context) error, enough func(since time.Time) bool) bool {
	since := time.Now()
	for b := (retry.Backoff{Min: 50 * time.Millisecond, Max: 2 * time.Second}); ; {
		err := j.attempt(ctx, f)
		if err == nil {
			j.logResult(what, nil)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		j.cfg.Metrics.Retries.Inc()
		j.logResult(what, err)
		j.updateMemory()
		if enough(since) {
			return false
		}
		j.shed()
		if !b.Wait(ctx) {
			return false
		}
	}
}

func (j *ShardJournal) logResult(what string, err error) {
	j.failure.Store(&err)
	if err != nil {
		j.cfg.Log.Warn("journal: a write to the store failed; samples wait",
			"doing", what, "shard", j.Shard, "err", err)
	}
}

// updateMemory counts the present size of all heads, which may have grown since their
// latest flush.
func (j *ShardJournal) updateMemory() {
	for _, h := range j.Heads() {
		h.updateMemory()
	}
}

// shed frees memory when it is short. It first releases the samples that are durable in the
// journal. If memory is still over its limit, it drops the oldest new samples: every shard journal
// drops the fraction by which all of them together are over the limit.
func (j *ShardJournal) shed() {
	if !j.mem.isShort() {
		return
	}
	j.release()
	excess, rest := j.mem.excess(), 0.0
	if excess == 0 {
		return
	}
	for _, h := range j.Heads() {
		if n, from, to := h.shed(excess, &rest); n > 0 {
			j.markLost(h, n, from, to)
		}
	}
}

// release drops the samples in acknowledged rows. The sealer reads them from the journal, and so
// do readers until then.
func (j *ShardJournal) release() {
	at := j.Acked()
	if at == 0 || at == store.Position(j.released.Load()) {
		return
	}
	j.released.Store(uint64(at)) // before the samples leave, so that no reader relies on them
	for _, h := range j.Heads() {
		h.release()
	}
	j.cfg.Metrics.Released.Inc()
	j.cfg.Log.Warn("memory is short; the samples in the journal of a shard are released, and sealed from the journal later", "shard", j.Shard)
}

// markLost counts and marks samples of a head that were dropped.
func (j *ShardJournal) markLost(h *Head, n int, from, to int64) {
	j.cfg.Metrics.Dropped.Add(uint64(n))
	j.cfg.Lost(h.PV, sample.Mark{
		Time: from, End: to, Kind: sample.Lost, Reason: sample.Overflow, Count: uint64(n),
	})
}

// Unsaved counts the samples that are neither in an acknowledged row nor in the spool.
func (j *ShardJournal) Unsaved() int {
	n := 0
	for _, h := range j.Heads() {
		n += h.unsaved()
	}
	return n
}
