package routing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/query"
)

// recentTimeout bounds the answer of an engine about the samples it holds of a PV. After
// that, readers use the engine's journal.
const recentTimeout = 300 * time.Millisecond

// unstoredTimeout replaces recentTimeout for an engine that holds samples which are not in the
// journal, for example after an outage of the store. Without its answer the read fails.
const unstoredTimeout = 10 * time.Second

// Recent implements query.Recent. It queries all engines that capture the PV, in parallel.
//
// If no engine captures the PV, Recent queries every engine: the PV may have been removed a short time ago,
// and its last samples may not be in a block yet. Recent also queries every engine if all engines that should
// capture the PV say that they do not: the PV is moving, and this table may be outdated. Because a PV may
// have moved, Held.Shards includes the shards that recently had it, and Recent queries the engines that
// capture these shards.
//
// Recent also queries the engines that hold unstored samples of any of these shards. The
// request names the shards, because an engine that has released a shard knows only the PVs
// that it captures now.
//
// Before the first update of the API server the engines are unknown, so that each PV counts as
// unanswered. So does a PV in a shard of which one engine is unknown.
//
// If no known engine captures the PV, an unknown engine may capture it in a shard that nobody named: this
// table may be outdated. Held.Confirmed says up to which time it is right.
func (r *Router) Recent(ctx context.Context, q query.RecentRequest) query.Held {
	seen := r.seen() // before the table is loaded: when all engines have answered, the table may be outdated
	pv, at := q.PV, r.table.Load()
	held, urls, captured := at.holders(pv)
	held.Unanswered = held.Unanswered || !r.synced.Load()
	q.Shards = slices.Clone(held.Shards)
	waiting := at.unstored(q.Shards)
	ask := func(url string) (query.Held, error) {
		since, needed := waiting[url]
		timeout := r.recentTimeout
		if needed {
			timeout = unstoredTimeout
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		h, err := r.peers.Recent(ctx, url, q)
		h.Unanswered = h.Unanswered || err != nil
		if err != nil && needed {
			h.Missing, h.MissingFrom = fmt.Errorf("querying an engine that holds samples of %s which the store has not accepted: %w", pv, err), since
		}
		return h, err
	}
	urls = unique(slices.AppendSeq(urls, maps.Keys(waiting)))
	answers := r.queryEngines(urls, ask)
	// An engine that nobody expects to capture the PV, and that does not answer, is no reason to trust the table.
	denied := captured && !slices.ContainsFunc(answers, isCapturing)
	if !slices.ContainsFunc(answers, isCapturing) {
		answers = append(answers, r.queryEngines(without(at.engines, urls), ask)...)
	}
	if !slices.ContainsFunc(answers, func(h query.Held) bool { return len(h.Shards) > 0 }) {
		held.Confirmed = r.confirmed(seen, denied)
	}
	for _, answer := range answers {
		held.Add(answer)
	}
	return held
}

// holders returns the shards in which a PV is or was recently, and the engines that may hold samples of it.
// captured means that engines should capture the PV now.
func (t *table) holders(pv string) (held query.Held, urls []string, captured bool) {
	in, certain := t.find(pv)
	held.Known = certain
	add := func(p *route) {
		held.Shards = append(held.Shards, p.shard)
		urls = append(urls, p.engines...)
		held.Unanswered = held.Unanswered || p.unknown
	}
	for _, p := range in {
		add(p)
	}
	captured = len(urls) > 0 || held.Unanswered
	if len(in) == 0 {
		urls = slices.Clone(t.engines) // others read t.engines at the same time
	}
	for _, shard := range t.formerShards(pv) {
		if !slices.Contains(held.Shards, shard) {
			add(t.route(shard))
		}
	}
	return held, urls, captured
}

const (
	// underWay bounds how long a change may be under way from the API server.
	underWay = 5 * time.Second
	// outdated is the age from which the table counts as outdated. It is more than twice the interval between two
	// bookmarks, so that the table reaches it only if the API server cannot be reached.
	outdated = 150 * time.Second
)

// confirmed returns the time, in ns since 1970, up to which a table is known to be right, for a PV that no known
// engine captures. seen is what r.seen returned before the table was loaded. denied means that engines should capture
// the PV according to the table, and say that they do not. Without a denial, the table is probably right, and confirmed
// returns 0, unless the API server has sent nothing for a long time. confirmed also returns 0 if the API server has
// never sent anything: then the PV counts as unanswered.
func (r *Router) confirmed(seen time.Time, denied bool) int64 {
	if seen.IsZero() || !denied && time.Since(seen) < outdated {
		return 0
	}
	return clock.Moment(r.cfg.Now, seen.Add(-underWay)).Begin
}

// isCapturing reports whether an answer does not rule out that its engine captures the PV.
func isCapturing(h query.Held) bool { return len(h.Shards) > 0 || h.Unanswered }

// without returns the URLs that are not in others.
func without(urls, others []string) (rest []string) {
	for _, url := range urls {
		if !slices.Contains(others, url) {
			rest = append(rest, url)
		}
	}
	return rest
}

// answer is the answer of one engine.
type answer[T any] struct {
	value T
	err   error
}

// queryEngines queries engines in parallel. It counts the queries that fail.
func (r *Router) queryEngines(urls []string, f func(url string) (query.Held, error)) (answers []query.Held) {
	for _, a := range queryAll(urls, f) {
		r.metrics.queried.Inc()
		if a.err != nil {
			r.metrics.failed.Inc()
			r.cfg.Log.Debug("engine did not answer", "err", a.err)
		}
		answers = append(answers, a.value)
	}
	return answers
}

// queryAll calls f for all engines in parallel. The answers are in the order of urls.
func queryAll[T any](urls []string, f func(url string) (T, error)) []answer[T] {
	answers := make([]answer[T], len(urls))
	var wg sync.WaitGroup
	for i, url := range urls {
		wg.Go(func() { answers[i].value, answers[i].err = f(url) })
	}
	wg.Wait()
	return answers
}

// unique removes duplicates and keeps the order.
func unique(urls []string) (out []string) {
	for _, url := range urls {
		if !slices.Contains(out, url) {
			out = append(out, url)
		}
	}
	return out
}

// statusTimeout bounds the answer of an engine about the state of a channel.
const statusTimeout = 2 * time.Second

// Status returns the state of a PV as the engine that seals its shard sees it. If the sealer
// does not answer, another engine that captures the PV provides the state. An error means that
// no engine that captures the PV answered, and at least one query failed.
func (r *Router) Status(ctx context.Context, pv string) (s capture.Status, captured bool, err error) {
	at := r.table.Load()
	in, _ := at.find(pv)
	var urls []string
	for _, p := range in {
		urls = append(urls, p.engines...)
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	type view struct {
		capture.Status
		captured bool
	}
	for _, a := range queryAll(unique(urls), func(url string) (v view, err error) {
		v.Status, v.captured, err = r.peers.Status(ctx, url, pv)
		v.Engine = at.names[url]
		return v, err
	}) {
		r.metrics.queried.Inc()
		switch {
		case a.err != nil:
			r.metrics.failed.Inc()
			err = a.err
		case a.value.captured:
			return a.value.Status, true, nil
		}
	}
	return s, false, err
}
