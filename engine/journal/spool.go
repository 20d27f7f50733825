package journal

import (
	"context"
	"sync"
	"time"

	"varve.dev/varve/engine/store"
)

// Spool takes rows while the store is unreachable. Once the store is back, it sends them
// as rows of its own writer IDs. spool.Spool implements it.
type Spool interface {
	// Put returns when all rows are durable. After an error some of them may be durable too.
	// The rows of a shard keep their order.
	Put(rows []SpoolRow) error
	// Waits reports whether the spool still holds rows of a shard to send.
	Waits(shard int) bool
}

// SpoolRow is a row without a writer ID and a position.
type SpoolRow struct {
	Shard   int
	Samples int
	// Index and Blob are those of a store.JournalRow.
	Index, Blob []byte
}

const (
	// spoolAfter is how long the store must fail before rows go to the spool. During
	// shorter outages samples wait in memory, so that no disk is touched.
	spoolAfter = 5 * time.Second
	// attemptTimeout limits one call of the store, so that a hanging store cannot keep
	// samples from the spool. Without a spool the store's own time-out applies.
	attemptTimeout = 10 * time.Second
	// spoolCooldown is the time after a failure of the spool in which it is not used.
	spoolCooldown = 10 * time.Second
	// spoolBatch is roughly how many bytes of rows the spool gets at once.
	spoolBatch = 4 << 20
)

// spooled reports whether the spool may still hold rows of this shard.
func (j *ShardJournal) spooled() bool { return j.cfg.Spool != nil && j.cfg.Spool.Waits(j.Shard) }

// never makes retry continue until it succeeds or the context ends.
func never(time.Time) bool { return false }

// shouldSpool reports whether rows must go to the spool. This is so if the store has failed
// for at least spoolAfter, counted from the given time, or if memory is short. For
// spoolCooldown after a failure of the spool it returns false.
func (j *ShardJournal) shouldSpool(since time.Time) bool {
	now := time.Now()
	j.spoolDue = j.cfg.Spool != nil && !now.Before(j.spoolRetryAt) &&
		(now.Sub(since) >= spoolAfter || j.mem.Used() > j.mem.Limit()/4*3)
	return j.spoolDue
}

// attempt calls f once, with a time-out if there is a spool.
func (j *ShardJournal) attempt(ctx context.Context, f func(context.Context) error) error {
	if j.cfg.Spool == nil {
		return f(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return f(ctx)
}

// spoolUntilClaimed puts new samples into the spool, every flush interval, until the claim is
// in the store again, the spool fails, or ctx ends. back is true if the claim is in the store.
func (j *ShardJournal) spoolUntilClaimed(ctx context.Context) (back bool) {
	j.spoolDue = false
	j.abandonPending()
	if j.spoolNew(ctx) != nil { // at once, because memory may be short
		return false
	}
	claiming, cancel := context.WithCancel(ctx)
	claimed := make(chan struct{})
	var inserting sync.WaitGroup
	inserting.Go(func() { // owns j.claim until it ends
		if j.retry(claiming, "claiming a shard", j.insertClaim, never) {
			close(claimed)
		}
	})
	defer inserting.Wait()
	defer cancel()
	tick := time.NewTicker(j.cfg.Flush)
	defer tick.Stop()
	for {
		select {
		case <-claimed:
			return true
		case <-ctx.Done():
			_ = j.spoolNew(context.WithoutCancel(ctx)) // Run tries again to spool the remaining samples
			return false
		case <-tick.C:
			if j.spoolNew(ctx) != nil {
				return false
			}
		}
	}
}

// spoolRest puts all samples that are in no acknowledged row into the spool. It returns the
// number of samples that are still neither in such a row nor in the spool.
func (j *ShardJournal) spoolRest(ctx context.Context) (unsaved int) {
	if j.cfg.Spool == nil || j.Unsaved() == 0 {
		return j.Unsaved()
	}
	j.abandonPending()
	_ = j.spoolNew(context.WithoutCancel(ctx)) // the spool logs why it failed
	return j.Unsaved()
}

// awaitSpool renews the claim until the spool has sent all rows of the shard. It returns false if hard
// ends first. An open claim whose time Saved stands still is the only record in the store that samples
// wait in the spool: it tells readers what they lack, and a sealer marks the samples if this engine
// dies. The claim says that the engine does not lead, because its sealer has ended.
func (j *ShardJournal) awaitSpool(hard context.Context) (sent bool) {
	defer j.awaitsSpool.Store(false)
	tick := time.NewTicker(j.cfg.Flush)
	defer tick.Stop()
	for j.spooled() {
		j.awaitsSpool.Store(true)
		if j.claim.Sealing != store.Follows || j.boot()-j.renewed > RenewEvery {
			j.claim.Sealing = store.Follows
			j.logResult("renewing a claim", j.attempt(hard, j.putClaim))
		}
		j.shed()
		select {
		case <-tick.C:
		case <-hard.Done():
			return false
		}
	}
	return true
}

// abandonPending makes the samples of the pending row new again. That row may be in the store,
// so its position is never used again: the spool sends its samples under another writer ID.
func (j *ShardJournal) abandonPending() {
	if j.pending != nil {
		for _, h := range j.pending.heads {
			h.revert()
		}
	}
	j.dropPending()
}

// spoolNew puts the new samples of the heads into the spool.
func (j *ShardJournal) spoolNew(ctx context.Context) error {
	for more := true; more; {
		rows := j.buildBatch(ctx)
		more = j.behind && len(rows) > 0
		if err := j.putBatch(rows); err != nil {
			j.spoolRetryAt = time.Now().Add(spoolCooldown)
			return err
		}
		j.shed()
	}
	return nil
}

// buildBatch builds rows from new samples of the heads, not necessarily all of them. It
// may build several rows from one head, so that a backlog does not wait for the disk
// after each row.
func (j *ShardJournal) buildBatch(ctx context.Context) (rows []*pendingRow) {
	size := 0
	for j.behind = true; j.behind && size < spoolBatch; {
		j.behind = false
		dirty := j.takeDirty()
		for size < spoolBatch {
			if dirty = j.buildRow(ctx, dirty); j.pending == nil {
				break
			}
			size += len(j.pending.Blob)
			rows = append(rows, j.pending)
			j.pending = nil
		}
		j.behind = j.behind || len(dirty) > 0
		j.redirty(dirty)
		if ctx.Err() != nil {
			break
		}
	}
	return rows
}

// putBatch puts rows into the spool and notifies their heads.
func (j *ShardJournal) putBatch(batch []*pendingRow) error {
	if len(batch) == 0 {
		return nil
	}
	rows := make([]SpoolRow, len(batch))
	for i, p := range batch {
		rows[i] = SpoolRow{Shard: p.Shard, Samples: p.samples, Index: p.Index, Blob: p.Blob}
	}
	err := j.cfg.Spool.Put(rows)
	for _, p := range batch {
		for _, h := range p.heads {
			if err == nil {
				h.spooled()
			} else {
				h.revert()
			}
		}
		j.pending = p
		j.dropPending()
	}
	return err
}
