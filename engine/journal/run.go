package journal

import (
	"context"
	"math/rand/v2"
	"time"

	"varve.dev/varve/engine/retry"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Run claims the shard and journals its heads until ctx ends. Then it flushes
// once more and closes the claim, which it tries until hard ends: while the store
// is away that may take long. It returns the number of samples that are in no
// acknowledged row, nor in the spool. No sample may be appended once ctx has ended.
func (l *ShardJournal) Run(ctx, hard context.Context) (unsaved int) {
	defer close(l.ended)
	defer l.drop()
	if !l.open(ctx) {
		if l.claim.Epoch == 0 && l.Unsaved() == 0 {
			return 0 // nothing was ever sent
		}
		if !l.retry(hard, "claiming a shard", l.insertClaim, l.toSpool) {
			return l.spoolRest(hard)
		}
	}
	close(l.claimed)
	l.journal(ctx)
	l.flush(hard)
	if n := l.spoolRest(hard); n > 0 {
		return n
	}
	l.claim.Closed, l.claim.Last = true, l.Acked()
	l.retry(hard, "closing a claim", l.putClaim, never)
	return 0
}

// open inserts the claim. It reports false if ctx ended before.
func (l *ShardJournal) open(ctx context.Context) bool {
	for ctx.Err() == nil {
		if l.retry(ctx, "claiming a shard", l.insertClaim, l.toSpool) || l.away && l.spool(ctx) {
			return true
		}
	}
	return false
}

// journal flushes and keeps the claim alive until ctx ends.
func (l *ShardJournal) journal(ctx context.Context) {
	timer := time.NewTimer(rand.N(l.cfg.Flush)) // shardJournals of an engine take turns
	defer timer.Stop()
	var synced []chan<- struct{} // who waits for the next flush that reaches the store
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-timer.C:
		case s := <-l.syncs:
			synced = append(synced, s)
		case r := <-l.ranks:
			l.claim.Sealing = r.term
			r.done <- l.attempt(ctx, l.putClaim)
		}
		start := time.Now()
		wait := l.cfg.Flush
		if len(synced) > 0 {
			if l.flush(ctx) {
				for _, s := range synced {
					close(s)
				}
				synced = nil
			}
		} else if l.pass(ctx) {
			wait = 0
		}
		if l.away {
			l.spool(ctx)
			wait = 0
		}
		if ctx.Err() == nil && time.Since(l.renewed) > RenewEvery {
			l.report("renewing a claim", l.attempt(ctx, l.putClaim))
		}
		timer.Reset(max(0, wait-time.Since(start)))
	}
}

// insertClaim ranks the writer above all that claimed the shard before.
func (l *ShardJournal) insertClaim(ctx context.Context) error {
	if l.claim.Epoch == 0 {
		claims, err := l.cfg.Store.Claims(ctx, l.Shard)
		if err != nil {
			return err
		}
		for _, c := range claims {
			l.claim.Epoch = max(l.claim.Epoch, c.Epoch)
		}
		l.claim.Epoch++
		l.claim.Since = time.Now().UnixNano()
	}
	return l.putClaim(ctx)
}

func (l *ShardJournal) putClaim(ctx context.Context) error {
	now := time.Now()
	l.claim.Alive, l.claim.Saved = now.UnixNano(), l.saved.UnixNano()
	err := l.cfg.Store.PutClaim(ctx, l.claim)
	if err == nil {
		l.renewed = now
	}
	return err
}

// flush writes rows until nothing that is new in a head is left. It reports false
// if ctx ended before, or the rest is for the spool.
func (l *ShardJournal) flush(ctx context.Context) bool {
	for l.pass(ctx) && ctx.Err() == nil && !l.away {
	}
	return ctx.Err() == nil && !l.away
}

// pass writes what is new in the heads, of each up to a row, unless ctx ends, or
// the rest is for the spool. It reports whether there is more than that.
func (l *ShardJournal) pass(ctx context.Context) (more bool) {
	begun, dirty := time.Now(), l.takeDirty()
	l.behind = false
	for {
		if l.pending == nil {
			if dirty = l.build(ctx, dirty); l.pending == nil {
				break
			}
			l.pending.At = l.next(l.pending.built)
		}
		if !l.retry(ctx, "writing a journal row", l.send, l.toSpool) {
			break
		}
		l.shed()
	}
	if l.pending == nil && len(dirty) == 0 && !l.behind && !l.away && !l.spooled() {
		l.saved = begun
	}
	l.redirty(dirty)
	if !l.away { // the spool makes room
		l.shed() // also when nothing was sent
	}
	return l.behind
}

// pendingRow is a row that has its bytes, for good, and once it is to be sent to
// the store its position.
type pendingRow struct {
	store.JournalRow
	heads   []*Head
	samples int
	built   time.Time
}

// build makes the next row, without a position, from what is due of dirty heads,
// and returns the heads that did not fit. It leaves l.pending nil if nothing is due,
// or ctx has ended.
func (l *ShardJournal) build(ctx context.Context, dirty []*Head) []*Head {
	now := time.Now()
	l.row.reset(now.UnixNano())
	var heads []*Head
	for len(dirty) > 0 && len(l.row.body) < l.cfg.RowBytes {
		h, before := dirty[0], l.row.count
		if h.large() && !l.takeTurn(ctx, len(heads) == 0) {
			break
		}
		more, later := h.flush(&l.row, l.cfg.RowBytes, &l.scratch)
		if !more {
			dirty = dirty[1:]
		}
		l.behind = l.behind || later
		if l.row.count > before {
			heads = append(heads, h)
		}
	}
	if len(heads) == 0 {
		return dirty
	}
	index, blob := l.row.finish()
	l.mem.add(int64(len(blob)))
	l.pending = &pendingRow{heads: heads, built: now, samples: l.row.samples, JournalRow: store.JournalRow{
		Shard: l.Shard, Writer: l.writer, Index: index, Blob: blob,
	}}
	return dirty
}

// takeTurn gets a turn to have a large row under way, at once, or after waiting for
// it, during which memory is kept within its limit. It is false if ctx ends.
func (l *ShardJournal) takeTurn(ctx context.Context, wait bool) bool {
	for !l.turn {
		select {
		case l.mem.turns <- struct{}{}:
			l.turn = true
			continue
		default:
		}
		if !wait {
			return false
		}
		select {
		case l.mem.turns <- struct{}{}:
			l.turn = true
		case <-ctx.Done():
			return false
		case <-time.After(time.Second):
			l.measure()
			l.shed()
		}
	}
	return true
}

// drop lets go of the pending row and of what it takes.
func (l *ShardJournal) drop() {
	if l.pending != nil {
		l.mem.add(-int64(len(l.pending.Blob)))
		l.pending = nil
	}
	if l.turn {
		<-l.mem.turns
		l.turn = false
	}
}

// next returns the position of the next row: one that no row was sent under. A
// partition is left only when a row of it is acknowledged.
func (l *ShardJournal) next(now time.Time) store.Position {
	held := l.Acked().N() == l.sent.N()
	if l.sent == 0 || held && (now.Sub(l.partSince) > partitionAge || l.partBytes > partitionBytes) {
		l.partSince, l.partBytes = now, 0
		l.sent = store.At(l.sent.N()+1, 1)
	} else {
		l.sent++
	}
	return l.sent
}

// send writes the pending row and tells its heads.
func (l *ShardJournal) send(ctx context.Context) error {
	p := l.pending
	start := time.Now()
	if err := l.cfg.Store.PutJournal(ctx, p.JournalRow); err != nil {
		return err
	}
	// After a long silence others may have taken this writer for dead and
	// forgotten its claim, without which nobody would find the row.
	if time.Since(l.renewed) > 2*RenewEvery {
		if err := l.putClaim(ctx); err != nil {
			return err
		}
	}
	for _, h := range p.heads {
		h.ack(p.At)
	}
	l.acked.Store(uint64(p.At))
	l.partBytes += len(p.Index) + len(p.Blob)
	l.written.Add(uint64(len(p.Index) + len(p.Blob)))
	l.drop()
	l.cfg.Metrics.row(p, start)
	return nil
}

// retry calls f until it succeeds, ctx ends or after a failure enough says so,
// with growing pauses, and keeps memory within its limit meanwhile.
func (l *ShardJournal) retry(ctx context.Context, what string, f func(context.Context) error, enough func(since time.Time) bool) bool {
	since := time.Now()
	for b := (retry.Backoff{Min: 50 * time.Millisecond, Max: 2 * time.Second}); ; {
		err := l.attempt(ctx, f)
		if err == nil {
			l.report(what, nil)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		l.cfg.Metrics.Retries.Inc()
		l.report(what, err)
		l.measure()
		if enough(since) {
			return false
		}
		l.shed()
		if !b.Wait(ctx) {
			return false
		}
	}
}

func (l *ShardJournal) report(what string, err error) {
	l.failing.Store(err != nil)
	if err != nil {
		l.cfg.Log.Warn("journal: the store refuses; samples wait",
			"doing", what, "shard", l.Shard, "err", err)
	}
}

// measure brings the account of memory up to date with what grew since its flush.
func (l *ShardJournal) measure() {
	for _, h := range l.Heads() {
		h.measure()
	}
}

// shed drops the oldest new samples while memory is over its limit: every shardJournal
// drops the fraction by which all are over it.
func (l *ShardJournal) shed() {
	excess := l.mem.excess()
	if excess == 0 {
		return
	}
	for _, h := range l.Heads() {
		if n, from, to := h.shed(excess); n > 0 {
			l.lost(h, n, from, to)
		}
	}
}

// lost counts and marks samples of a head that were dropped.
func (l *ShardJournal) lost(h *Head, n int, from, to int64) {
	l.cfg.Metrics.Dropped.Add(uint64(n))
	l.cfg.Lost(h.PV, sample.Mark{
		Time: from, End: to, Kind: sample.Lost, Reason: sample.Overflow, Count: uint64(n),
	})
}

// Unsaved counts the samples that are in no acknowledged row, nor in the spool.
func (l *ShardJournal) Unsaved() int {
	n := 0
	for _, h := range l.Heads() {
		n += h.unsaved()
	}
	return n
}
