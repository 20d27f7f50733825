package spool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/varve/engine/journal"
	"varve.dev/varve/engine/retry"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/store"
)

// Target is where rows go, and who is told.
type Target struct {
	Store journal.Store
	// Stored is told of samples that this process put, and that the store has
	// acknowledged.
	Stored func(pv string, samples uint64)
	// Lost is told of samples that were dropped: those that this process put, and a
	// mark for all. It must not block.
	Lost func(pv string, ours uint64, m sample.Mark)
}

const (
	// parallel is how many rows are under way at a time: few, so that the rows of
	// shardJournals, and reads, do not wait for them.
	parallel = 4
	// linger is how long a segment is kept that others may have taken for dead. It is
	// longer than a sealer takes from its look at a claim to dropping it.
	linger = time.Minute
)

// drainer is a Drain under way.
type drainer struct {
	*Spool
	Target
}

// Drain sends rows to the store, the oldest first, whenever it takes them, until
// ctx ends. Run must be running.
func (s *Spool) Drain(ctx context.Context, to Target) {
	backoff := retry.Backoff{Min: 500 * time.Millisecond, Max: 5 * time.Second}
	d := &drainer{s, to}
	defer d.mark()
	for ctx.Err() == nil {
		d.finish(ctx)
		g, due := d.nextSegment()
		if g == nil {
			d.sleep(ctx, due)
			continue
		}
		if err := d.send(ctx, g); err != nil {
			if ctx.Err() != nil {
				return
			}
			s.metrics.Retries.Inc()
			s.cfg.Log.Warn("what is in the spool waits: the store refuses", "err", err)
			backoff.Wait(ctx)
			continue
		}
		backoff.Reset()
		d.mark()
	}
}

// nextSegment returns the oldest segment that is to be sent; nil: there is none, and
// after some time one may be due to be finished.
func (d *drainer) nextSegment() (g *segment, due time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	due = linger
	for _, g := range d.segments {
		if g.drained.IsZero() {
			return g, 0
		}
		due = min(due, time.Until(g.drained.Add(linger)))
	}
	return nil, due
}

// sleep waits for new rows, or for a time.
func (d *drainer) sleep(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-d.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// send sends what is left of a segment: several shards at a time, of each shard a
// row after the other.
func (d *drainer) send(ctx context.Context, g *segment) error {
	shards, err := d.take(ctx, g)
	if err != nil {
		return err
	}
	defer d.release(g)
	var sending errgroup.Group
	var refused atomic.Bool
	sending.SetLimit(parallel)
	for _, shard := range shards {
		sending.Go(func() error {
			if refused.Load() {
				return nil
			}
			err := d.sendShard(ctx, g, shard)
			if err != nil {
				refused.Store(true)
				err = fmt.Errorf("sending rows of shard %d: %w", shard, err)
			}
			return err
		})
	}
	if err := sending.Wait(); err != nil {
		return err
	}
	d.sent(g)
	return nil
}

// take makes a segment the drainer's, if it was not dropped, and returns the shards
// that are not done. That which is being written is ended, but only once the store
// takes a claim: as long as it is away, there is one segment and not many.
func (d *drainer) take(ctx context.Context, g *segment) (shards []int, err error) {
	d.mu.Lock()
	current, some := g == d.current, 0
	for some = range g.chains {
		break // another one each time: the store may refuse some of them only
	}
	d.mu.Unlock()
	if current {
		if err := d.claim(ctx, g, some); err != nil {
			return nil, err
		}
		if err := d.roll(ctx); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.segments, g) {
		return nil, nil
	}
	g.sending = true
	for shard, c := range g.chains {
		if !c.done {
			shards = append(shards, shard)
		}
	}
	rand.Shuffle(len(shards), func(i, j int) { shards[i], shards[j] = shards[j], shards[i] })
	return shards, nil
}

func (d *drainer) release(g *segment) {
	d.mu.Lock()
	g.sending = false
	d.mu.Unlock()
}

// roll has Run end the segment that it adds to.
func (d *drainer) roll(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case d.rolls <- done:
		<-done
		return nil
	case <-d.ended:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sendShard sends the rows of a shard, and closes the claim.
func (d *drainer) sendShard(ctx context.Context, g *segment, shard int) error {
	c := g.chains[shard]
	err := g.with(d.fs, g.size, func(r *reader) error {
		offsets, err := r.chain(c.last, c.sent)
		if err != nil {
			return err
		}
		for _, offset := range slices.Backward(offsets) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := d.sendRow(ctx, g, r, offset); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.claim.Closed, c.claim.Last = true, c.sent
	if err := d.claim(ctx, g, shard); err != nil {
		return err
	}
	c.isLate(time.Now())
	d.mu.Lock()
	c.done, c.rows, c.samples = true, 0, 0
	d.mu.Unlock()
	return nil
}

// sendRow sends the row at an offset. One whose bytes are damaged is passed over.
func (d *drainer) sendRow(ctx context.Context, g *segment, r *reader, offset int64) error {
	rec, err := r.record(offset)
	if err != nil {
		return err
	}
	row, err := r.row(&rec)
	if errors.Is(err, errCorrupt) {
		d.acknowledge(g, &rec.record, false)
		d.metrics.Dropped.WithLabelValues(damaged).Add(float64(rec.samples))
		d.cfg.Log.Error("a row in the spool is damaged; its samples are lost", "file", g.path, "shard", rec.shard, "samples", rec.samples)
		return nil
	}
	if err != nil {
		return err
	}
	if c := g.chains[rec.shard]; time.Since(c.stands) > journal.RenewEvery { // without a claim nobody finds the row
		if err := d.claim(ctx, g, rec.shard); err != nil {
			return err
		}
	}
	if err := d.Store.PutJournal(ctx, row); err != nil {
		return err
	}
	d.acknowledge(g, &rec.record, true)
	d.metrics.SentRows.Inc()
	d.metrics.SentSamples.Add(float64(rec.samples))
	if g.ours && d.Stored != nil {
		return journal.Counts(row, func(pv string, samples int) { d.Stored(pv, uint64(samples)) })
	}
	return nil
}

// acknowledge notes that a row is in the store, or can not be.
func (d *drainer) acknowledge(g *segment, rec *record, stored bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := g.chains[rec.shard]
	c.rows--
	c.samples -= rec.samples
	c.sent = rec.at
	switch {
	case g.ours && stored:
		d.counts.Sent += uint64(rec.samples)
	case g.ours:
		d.counts.Dropped += uint64(rec.samples)
	}
}

// claim writes the claim of a segment's writer, which at first gets a rank as the
// claim of a shardJournal does.
func (d *drainer) claim(ctx context.Context, g *segment, shard int) error {
	d.mu.Lock()
	c := g.chains[shard]
	d.mu.Unlock()
	if c.claim.Epoch == 0 {
		claims, err := d.Store.Claims(ctx, shard)
		if err != nil {
			return err
		}
		epoch := uint64(0)
		for _, o := range claims {
			epoch = max(epoch, o.Epoch)
		}
		c.claim = store.Claim{Shard: shard, Writer: g.writer, Epoch: epoch + 1, Since: g.created, Saved: g.created, Closed: c.claim.Closed, Last: c.claim.Last}
	}
	now := time.Now()
	c.isLate(now)
	c.late = c.late || !g.ours // there may be a claim of a process before
	c.claim.Alive, c.claimed = now.UnixNano(), now
	if err := d.Store.PutClaim(ctx, c.claim); err != nil {
		return err
	}
	c.stands = now
	return nil
}

// isLate notes whether the claim stood in the store for so long without a sign of
// life that others may be about to drop it.
func (c *chain) isLate(now time.Time) {
	c.late = c.late || !c.claimed.IsZero() && now.Sub(c.claimed) > 2*journal.RenewEvery
}

// sent ends a segment whose rows are all acknowledged.
func (d *drainer) sent(g *segment) {
	late := false
	for _, c := range g.chains {
		late = late || c.late
	}
	if !late {
		d.remove(g)
		return
	}
	d.mu.Lock()
	g.drained = time.Now()
	d.mu.Unlock()
}

// finish deletes segments that were kept because others may have taken their writer
// for dead. Who did that before the last rows came may have dropped the claim after
// it was closed, so it is written once more.
func (d *drainer) finish(ctx context.Context) {
	d.mu.Lock()
	var due []*segment
	for _, g := range d.segments {
		if !g.drained.IsZero() && time.Since(g.drained) >= linger {
			due = append(due, g)
		}
	}
	d.mu.Unlock()
	for _, g := range due {
		for shard, c := range g.chains {
			if !c.late {
				continue
			}
			if err := d.claim(ctx, g, shard); err != nil {
				return // the next one tries again
			}
			c.late = false
		}
		d.remove(g)
	}
}

// mark gives out the marks of what was dropped.
func (d *drainer) mark() {
	d.takeLost(func(pv string, m sample.Mark, ours uint64) { d.Lost(pv, ours, m) })
}
