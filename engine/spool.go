package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/spool"
)

// startSpool starts writing the rows that shard journals put into the spool, until stop is
// called, and sends them to the store until ctx ends.
func (e *Engine) startSpool(ctx, hard context.Context) (stop func()) {
	s := e.opts.Spool
	if s == nil {
		return func() {}
	}
	writing, end := context.WithCancel(context.WithoutCancel(hard)) // shard journals spool their last samples when hard ends
	var wg, draining sync.WaitGroup
	wg.Go(func() { s.Run(writing) })
	draining.Go(func() {
		s.Drain(ctx, spool.Target{
			Store:  e.opts.Store,
			Stored: func(pv string, n uint64) { e.capture.CountSpooled(pv, n, 0) },
			Lost: func(pv string, ours uint64, m sample.Mark) {
				e.capture.CountSpooled(pv, 0, ours)
				e.marks.Add(pv, m)
			},
		})
	})
	return func() {
		draining.Wait()
		end()
		wg.Wait()
	}
}

// endGraceEarly ends the grace period once waiting is pointless: all samples are on the disk,
// and the store does not accept them. The capture has ended before. endGraceEarly returns when
// ctx ends.
func (e *Engine) endGraceEarly(ctx context.Context, end context.CancelFunc) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if e.Storage() != "" && e.inMemory() == 0 {
				end()
			}
		case <-ctx.Done():
			return
		}
	}
}

// spooled returns the counts of spooled samples.
func (e *Engine) spooled() spool.Counts {
	if e.opts.Spool == nil {
		return spool.Counts{}
	}
	return e.opts.Spool.Counts()
}

// spooledIn counts the samples of a shard that wait in the spool.
func (e *Engine) spooledIn(shard int) int {
	if e.opts.Spool == nil {
		return 0
	}
	return e.opts.Spool.Waiting(shard)
}

// addSpooled adds the samples of a PV that wait in the spool, in the shards that the
// request names, the shard that captures the PV now, and the shard of the PV's name. It
// must be called after memory was read, because samples move from memory to the spool,
// and from the spool to the journal, which the reader reads last.
func (e *Engine) addSpooled(held *query.Held, q *query.RecentRequest) {
	if e.opts.Spool == nil {
		return
	}
	shards := append(slices.Concat(q.Shards, held.Shards), pvname.Shard(q.PV, e.opts.Shards))
	slices.Sort(shards)
	runs, err := e.opts.Spool.Recent(q.PV, q.From, q.To, slices.Compact(shards)...)
	if err != nil {
		held.Missing, held.MissingFrom = fmt.Errorf("%w for samples in its spool: %w", query.ErrNoAnswer, err), query.Earliest
	}
	// In order of arrival, apart from samples that were durable before the outage.
	held.Runs = append(runs, held.Runs...)
}
