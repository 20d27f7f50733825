package journal

import (
	"context"
	"sync"
	"time"
)

// Spool takes rows while the store is away, and sends them when it is back, as
// rows of writers of its own. spool.Spool is one.
type Spool interface {
	// Put returns when all rows are durable. After an error some of them may be, too.
	// The rows of a shard keep their order.
	Put(rows []SpoolRow) error
	// Waits reports whether rows of a shard have not been sent yet.
	Waits(shard int) bool
}

// SpoolRow is a row without a writer and a position.
type SpoolRow struct {
	Shard   int
	Samples int
	// Index and Blob are as those of a store.JournalRow.
	Index, Blob []byte
}

const (
	// spoolAfter is how long the store fails before rows go to the spool: short
	// outages wait in memory, and do not touch a disk.
	spoolAfter = 5 * time.Second
	// patience is how long one try may take: a store that hangs must not keep samples
	// from the spool. Without a spool it is the store that says.
	patience = 10 * time.Second
	// spoolRests is for how long a spool that failed is left alone.
	spoolRests = 10 * time.Second
	// spoolBatch is about how many bytes of rows the spool gets at once.
	spoolBatch = 4 << 20
)

// spooled reports whether rows of the shardJournal may still be in the spool.
func (l *ShardJournal) spooled() bool { return l.cfg.Spool != nil && l.cfg.Spool.Waits(l.Shard) }

// never is for retry: only success, or the end of the context, is enough.
func never(time.Time) bool { return false }

// toSpool decides whether a store that has failed since a time has failed for long
// enough, or memory is short.
func (l *ShardJournal) toSpool(since time.Time) bool {
	now := time.Now()
	l.away = l.cfg.Spool != nil && !now.Before(l.spoolFrom) &&
		(now.Sub(since) >= spoolAfter || l.mem.Used() > l.mem.Limit()/4*3)
	return l.away
}

// attempt calls f once.
func (l *ShardJournal) attempt(ctx context.Context, f func(context.Context) error) error {
	if l.cfg.Spool == nil {
		return f(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return f(ctx)
}

// spool puts what is new in the heads into the spool, every flush interval, until
// the claim stands in the store again, the spool fails or ctx ends. It reports
// whether the claim stands.
func (l *ShardJournal) spool(ctx context.Context) (back bool) {
	l.away = false
	l.abandon()
	if l.spoolNew(ctx) != nil { // at first, as memory may be short
		return false
	}
	asking, cancel := context.WithCancel(ctx)
	answered := make(chan struct{})
	var ask sync.WaitGroup
	ask.Go(func() { // it has the claim until it ends
		if l.retry(asking, "claiming a shard", l.insertClaim, never) {
			close(answered)
		}
	})
	defer ask.Wait()
	defer cancel()
	tick := time.NewTicker(l.cfg.Flush)
	defer tick.Stop()
	for {
		select {
		case <-answered:
			return true
		case <-ctx.Done():
			_ = l.spoolNew(context.WithoutCancel(ctx)) // what is left, Run tries again
			return false
		case <-tick.C:
			if l.spoolNew(ctx) != nil {
				return false
			}
		}
	}
}

// spoolRest puts everything into the spool that is in no acknowledged row, and
// returns how many samples are in neither.
func (l *ShardJournal) spoolRest(ctx context.Context) (unsaved int) {
	if l.cfg.Spool == nil || l.Unsaved() == 0 {
		return l.Unsaved()
	}
	l.abandon()
	_ = l.spoolNew(context.WithoutCancel(ctx)) // the spool reports why
	return l.Unsaved()
}

// abandon makes the samples of the pending row new again. Whether that row is in the
// store nobody knows, so its position is never used again: its samples are sent
// under another one, in another writer's rows.
func (l *ShardJournal) abandon() {
	if l.pending != nil {
		for _, h := range l.pending.heads {
			h.revert()
		}
	}
	l.drop()
}

// spoolNew puts what is new in the heads into the spool.
func (l *ShardJournal) spoolNew(ctx context.Context) error {
	for more := true; more; {
		rows := l.batch(ctx)
		more = l.behind && len(rows) > 0
		if err := l.putBatch(rows); err != nil {
			l.spoolFrom = time.Now().Add(spoolRests)
			return err
		}
		l.shed()
	}
	return nil
}

// batch builds rows of what is new in the heads, which need not be all: of a head,
// several rows, so that a backlog does not wait for the disk after each.
func (l *ShardJournal) batch(ctx context.Context) (rows []*pendingRow) {
	size := 0
	for l.behind = true; l.behind && size < spoolBatch; {
		l.behind = false
		dirty := l.takeDirty()
		for size < spoolBatch {
			if dirty = l.build(ctx, dirty); l.pending == nil {
				break
			}
			size += len(l.pending.Blob)
			rows = append(rows, l.pending)
			l.pending = nil
		}
		l.behind = l.behind || len(dirty) > 0
		l.redirty(dirty)
		if ctx.Err() != nil {
			break
		}
	}
	return rows
}

// putBatch puts rows into the spool and tells their heads.
func (l *ShardJournal) putBatch(batch []*pendingRow) error {
	if len(batch) == 0 {
		return nil
	}
	rows := make([]SpoolRow, len(batch))
	for i, p := range batch {
		rows[i] = SpoolRow{Shard: p.Shard, Samples: p.samples, Index: p.Index, Blob: p.Blob}
	}
	err := l.cfg.Spool.Put(rows)
	for _, p := range batch {
		for _, h := range p.heads {
			if err == nil {
				h.spooled()
			} else {
				h.revert()
			}
		}
		l.pending = p
		l.drop()
	}
	return err
}
