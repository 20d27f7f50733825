package engine

import (
	"fmt"
	"slices"

	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/spool"
)

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
	// The runs are in order of arrival, except for samples that were durable before the
	// outage.
	held.Runs = append(runs, held.Runs...)
}
