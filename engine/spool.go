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

// addSpooled adds the samples of a PV that wait in the spool. It must be called after memory was
// read, because samples move from memory to the spool, and from the spool to the journal, which
// the reader reads last.
func (e *Engine) addSpooled(held *query.Held, q *query.RecentRequest) {
	if e.opts.Spool == nil {
		return
	}
	writers := e.opts.Spool.Writers()
	runs, err := e.opts.Spool.Recent(q.PV, q.From, q.To, e.spoolShards(held, q)...)
	if err != nil {
		held.Missing, held.MissingFrom = fmt.Errorf("%w for samples in its spool: %w", query.ErrNoAnswer, err), query.Earliest
		return
	}
	// The runs are in order of arrival, except for samples that were durable before the
	// outage.
	held.Runs = append(runs, held.Runs...)
	for _, w := range writers { // their other samples are in the journal
		held.Flushed = append(held.Flushed, query.Flushed{Writer: w, Until: query.Latest})
	}
}

// checkSpool sets Missing if samples of the PV may wait in the spool: they are not in the journal.
func (e *Engine) checkSpool(held *query.Held, q *query.RecentRequest) {
	if e.opts.Spool != nil && slices.ContainsFunc(e.spoolShards(held, q), e.opts.Spool.Waits) {
		held.Missing, held.MissingFrom = fmt.Errorf("%w: it is busy, and samples wait in its spool", query.ErrNoAnswer), query.Earliest
	}
}

// spoolShards returns the shards whose samples of a PV may be in the spool: the shards that the
// request names, the shard that captures the PV now, and the shard of the PV's name.
func (e *Engine) spoolShards(held *query.Held, q *query.RecentRequest) []int {
	shards := append(slices.Concat(q.Shards, held.Shards), pvname.Shard(q.PV, e.opts.Shards))
	slices.Sort(shards)
	return slices.Compact(shards)
}
