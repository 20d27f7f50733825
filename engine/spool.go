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

// startSpool writes what shardJournals spool until the function returned is called, and
// sends it to the store until ctx ends.
func (e *Engine) startSpool(ctx, hard context.Context) (stop func()) {
	s := e.opts.Spool
	if s == nil {
		return func() {}
	}
	writing, end := context.WithCancel(context.WithoutCancel(hard)) // shardJournals spool what is left when hard ends
	var wg, draining sync.WaitGroup
	wg.Go(func() { s.Run(writing) })
	draining.Go(func() {
		s.Drain(ctx, spool.Target{
			Store:  e.opts.Store,
			Stored: func(pv string, n uint64) { e.capture.Settle(pv, n, 0) },
			Lost: func(pv string, ours uint64, m sample.Mark) {
				e.capture.Settle(pv, 0, ours)
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

// hurry ends the grace period once it is of no use: all is on the disk, and the store
// does not take the rest either. Nobody captures meanwhile. It returns when ctx ends.
func (e *Engine) hurry(ctx context.Context, end context.CancelFunc) {
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

// spooled returns what became of samples in the spool.
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

// addSpooled adds the samples of a PV that wait in the spool: in the shards that the
// question names, those where it is captured now, and that which its name says. It is called
// after memory was looked at: samples go from there to the spool, and from the spool to
// the journal, which is read later.
func (e *Engine) addSpooled(held *query.Held, q *query.RecentRequest) {
	if e.opts.Spool == nil {
		return
	}
	shards := append(slices.Concat(q.Shards, held.Shards), pvname.Shard(q.PV, e.opts.Shards))
	slices.Sort(shards)
	runs, err := e.opts.Spool.Recent(q.PV, q.From, q.To, slices.Compact(shards)...)
	if err != nil {
		held.Missing, held.MissingFrom = fmt.Errorf("%w for what waits in its spool: %w", query.ErrNoAnswer, err), query.Earliest
	}
	// In the order of arrival, but for what was durable before the store went away.
	held.Runs = append(runs, held.Runs...)
}
