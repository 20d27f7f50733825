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

// Target is the destination of the rows and of the reports of a drainer.
type Target struct {
	Store journal.Store
	// Stored is called with the number of samples of a PV that the store has acknowledged. It
	// counts only samples that this process put.
	Stored func(pv string, samples uint64)
	// Lost is called with a mark for samples that were dropped. ours is the number of those
	// samples that this process put. Lost must not block.
	Lost func(pv string, ours uint64, m sample.Mark)
	// Damaged is called with a mark for samples of a shard that are lost because a file is
	// damaged. The PVs are unknown. Damaged must not block. It may be nil.
	Damaged func(shard int, m sample.Mark)
	// Boot returns the time since boot, as in journal.Config.
	Boot func() time.Duration
}

// fileError is the error of a file of the spool that could not be read.
type fileError struct{ err error }

func (e *fileError) Error() string { return "reading a spool file: " + e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

const (
	// parallel is how many rows are sent at the same time. It is small, so that live
	// rows and reads do not wait.
	parallel = 4
	// linger is how long the drainer keeps a segment whose writer another engine may have
	// taken for dead. A sealer takes less time from reading a claim to dropping it.
	linger = time.Minute
	// waited is how long samples may have waited in memory before the file was created, because the
	// store failed or a request hung.
	waited = 30 * time.Second
	// rereadAfter is how long the drainer leaves a file alone that could not be read.
	rereadAfter = time.Minute
)

// drainer is one run of Drain.
type drainer struct {
	*Spool
	Target
}

// Drain sends rows to the store, the oldest first, whenever the store accepts them, until ctx
// ends. Run must be running.
func (s *Spool) Drain(ctx context.Context, to Target) {
	backoff := retry.Backoff{Min: 500 * time.Millisecond, Max: 5 * time.Second}
	if to.Boot == nil {
		to.Boot = func() time.Duration { return time.Hour + time.Since(s.opened) }
	}
	d := &drainer{s, to}
	defer d.reportLost()
	for ctx.Err() == nil {
		d.removeLateSegments(ctx)
		g, due := d.nextSegment()
		if g == nil {
			d.waitForRows(ctx, due)
			continue
		}
		if err := d.send(ctx, g); err != nil {
			if ctx.Err() != nil {
				return
			}
			s.metrics.Retries.Inc()
			if failed := (*fileError)(nil); errors.As(err, &failed) {
				d.postpone(g, failed)
				continue
			}
			s.cfg.Log.Warn("a write to the store failed; spooled samples wait", "err", err)
			backoff.Wait(ctx)
			continue
		}
		backoff.Reset()
		d.reportLost()
	}
}

// nextSegment returns the oldest segment with rows to send. If there is none, it returns nil
// and the time until a segment may be removed.
func (d *drainer) nextSegment() (g *segment, due time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	due = linger
	for _, g := range d.segments {
		switch wait := time.Until(g.retryAt); {
		case !g.drained.IsZero():
			due = min(due, time.Until(g.drained.Add(linger)))
		case wait > 0:
			due = min(due, wait)
		default:
			return g, 0
		}
	}
	return nil, due
}

// postpone leaves a file alone that could not be read, so that newer files do not wait for it.
func (d *drainer) postpone(g *segment, err error) {
	d.metrics.Failures.Inc()
	d.cfg.Log.Error("a spool file cannot be read; its samples wait, and the drainer tries again", "file", g.path, "after", rereadAfter.String(), "err", err)
	d.mu.Lock()
	g.retryAt = time.Now().Add(rereadAfter)
	d.mu.Unlock()
}

// waitForRows waits until there are new rows, but at most for the given time.
func (d *drainer) waitForRows(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-d.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// send sends the remaining rows of a segment. It sends rows of several shards at a time, but
// the rows of each shard one after the other.
func (d *drainer) send(ctx context.Context, g *segment) error {
	shards, err := d.beginSending(ctx, g)
	if err != nil {
		return err
	}
	defer d.endSending(g)
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
	d.retireSegment(g)
	return nil
}

// beginSending reserves a segment for the drainer and returns the shards with rows to send, or
// none if the segment was dropped. If Run still writes to the segment, beginSending makes Run
// end it, but only after the store has accepted a claim. An outage therefore fills one segment
// and not many.
func (d *drainer) beginSending(ctx context.Context, g *segment) (shards []int, err error) {
	d.mu.Lock()
	current, some := g == d.current, 0
	for some = range g.chains {
		break // a random one, because the store may refuse only some shards
	}
	d.mu.Unlock()
	if current {
		if err := d.putClaim(ctx, g, some); err != nil {
			return nil, err
		}
		if err := d.endCurrentSegment(ctx); err != nil {
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

func (d *drainer) endSending(g *segment) {
	d.mu.Lock()
	g.sending = false
	d.mu.Unlock()
}

// endCurrentSegment makes Run end the segment to which it writes.
func (d *drainer) endCurrentSegment(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case d.endRequests <- done:
		<-done
		return nil
	case <-d.ended:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sendShard sends the rows of a shard and closes the claim. It skips records that cannot be read.
func (d *drainer) sendShard(ctx context.Context, g *segment, shard int) error {
	c := g.chains[shard]
	err := g.with(d.fs, g.size, func(r *reader) error {
		offsets, err := r.chain(shard, c.last, c.sent)
		if err != nil && !errors.Is(err, errCorrupt) {
			return &fileError{err}
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
	if c.samples > 0 || g.skipped {
		d.giveUp(g, shard, max(c.samples, 0))
	}
	c.claim.Closed = true
	if err := d.putClaim(ctx, g, shard); err != nil {
		return err
	}
	c.noteLateness(d.Boot())
	d.mu.Lock()
	c.done, c.rows, c.samples = true, 0, 0
	d.mu.Unlock()
	return nil
}

// sendRow sends the row at an offset. A row with damaged bytes is skipped and counted.
func (d *drainer) sendRow(ctx context.Context, g *segment, r *reader, offset int64) error {
	rec, err := r.record(offset)
	if err != nil {
		return &fileError{err}
	}
	row, err := r.row(&rec)
	if errors.Is(err, errCorrupt) {
		d.giveUp(g, rec.shard, rec.samples)
		d.acknowledge(g, &rec.record)
		return nil
	}
	if err != nil {
		return &fileError{err}
	}
	if c := g.chains[rec.shard]; c.stands == 0 || d.Boot()-c.stands > journal.RenewEvery { // readers find no row without a claim
		if err := d.putClaim(ctx, g, rec.shard); err != nil {
			return err
		}
	}
	if err := d.Store.PutJournal(ctx, row); err != nil {
		return err
	}
	if g.ours {
		d.mu.Lock()
		d.counts.Sent += uint64(rec.samples)
		d.mu.Unlock()
	}
	d.acknowledge(g, &rec.record)
	d.metrics.SentRows.Inc()
	d.metrics.SentSamples.Add(float64(rec.samples))
	if g.ours && d.Stored != nil {
		return journal.Counts(row, func(pv string, samples int) { d.Stored(pv, uint64(samples)) })
	}
	return nil
}

// giveUp reports samples of a shard that are lost because a file is damaged.
func (d *drainer) giveUp(g *segment, shard, samples int) {
	d.metrics.Dropped.WithLabelValues(damaged).Add(float64(samples))
	d.cfg.Log.Error("rows in the spool are damaged; their samples are lost", "file", g.path, "shard", shard, "samples", samples)
	if g.ours {
		d.mu.Lock()
		d.counts.Dropped += uint64(samples)
		d.mu.Unlock()
	}
	if d.Damaged != nil {
		d.Damaged(shard, sample.Mark{
			Time: g.created, End: d.cfg.Now().End, Kind: sample.Lost, Reason: sample.Damaged, Count: uint64(samples),
			Text: "a file of the spool is damaged",
		})
	}
}

// acknowledge records that a row is in the store, or that it can never be there.
func (d *drainer) acknowledge(g *segment, rec *record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := g.chains[rec.shard]
	c.rows--
	c.samples -= rec.samples
	c.sent = rec.at
}

// putClaim writes the claim of the segment's writer in a shard. The first time, the claim
// gets a higher epoch than all earlier claims of the shard, as in a shard journal.
func (d *drainer) putClaim(ctx context.Context, g *segment, shard int) error {
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
		c.claim = store.Claim{Shard: shard, Writer: g.writer, Epoch: epoch + 1, Since: g.created, Saved: g.created - int64(waited), Closed: c.claim.Closed}
	}
	now := d.Boot()
	c.noteLateness(now)
	c.late = c.late || !g.ours // an earlier process may have written a claim
	c.claim.Alive, c.claim.Last, c.claimed = time.Now().UnixNano(), c.sent, now
	if err := d.Store.PutClaim(ctx, c.claim); err != nil {
		return err
	}
	c.stands = now
	return nil
}

// noteLateness sets late if the claim was not renewed for so long that another engine may be
// about to drop it.
func (c *chain) noteLateness(now time.Duration) {
	c.late = c.late || c.claimed != 0 && now-c.claimed > 2*journal.RenewEvery
}

// retireSegment deletes a segment whose rows are all acknowledged. If another engine may have
// taken its writer for dead, retireSegment keeps it for now.
func (d *drainer) retireSegment(g *segment) {
	late := false
	for _, c := range g.chains {
		late = late || c.late
	}
	if !late {
		d.removeSegment(g)
		return
	}
	d.mu.Lock()
	g.drained = time.Now()
	d.mu.Unlock()
}

// removeLateSegments deletes segments that were kept because another engine may have taken
// their writer for dead. Such an engine may have dropped a claim after it was closed, so
// removeLateSegments writes the claim once more.
func (d *drainer) removeLateSegments(ctx context.Context) {
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
			if err := d.putClaim(ctx, g, shard); err != nil {
				return // the next call tries again
			}
			c.late = false
		}
		d.removeSegment(g)
	}
}

// reportLost reports the marks of dropped samples.
func (d *drainer) reportLost() {
	d.takeLost(func(pv string, m sample.Mark, ours uint64) { d.Lost(pv, ours, m) })
}
