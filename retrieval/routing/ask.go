package routing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/query"
)

// askTimeout is how long an engine may take to say what it holds of a PV. After
// that its journal is read.
const askTimeout = 300 * time.Millisecond

// waitingTimeout is askTimeout for an engine in which samples wait that are not in the
// journal, as after an outage of the store: without its answer a PV can not be read.
const waitingTimeout = 10 * time.Second

// Recent implements query.Recent: it asks all engines that capture the PV, at
// once. Of a PV that nobody captures any more all engines are asked: the last
// samples of one that was removed a short time ago may be in no block yet. For the same
// reason Shards has those that had the PV lately: it may have moved. Engines in which
// samples of any of these shards wait are asked as well, and named the shards: one that
// has given a shard up knows only what it captures now.
func (o *Owners) Recent(ctx context.Context, q query.Question) query.Held {
	pv, at := q.PV, o.atlas.Load()
	in, certain := at.find(pv)
	held := query.Held{Known: certain}
	var urls []string
	if len(in) == 0 {
		urls = at.engines
	}
	for _, p := range in {
		held.Shards = append(held.Shards, p.shard)
		urls = append(urls, p.engines...)
	}
	for _, shard := range at.formerly(pv) {
		if !slices.Contains(held.Shards, shard) {
			held.Shards = append(held.Shards, shard)
		}
	}
	q.Shards = held.Shards
	waiting := at.waitingOf(q.Shards)
	for _, answer := range o.ask(unique(slices.AppendSeq(urls, maps.Keys(waiting))), func(url string) (query.Held, error) {
		since, needed := waiting[url]
		timeout := askTimeout
		if needed {
			timeout = waitingTimeout
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		h, err := o.peers.Recent(ctx, url, q)
		if err != nil && needed {
			h.Missing, h.MissingFrom = fmt.Errorf("samples of %s wait there, as the store was away: %w", pv, err), since
		}
		return h, err
	}) {
		held.Add(answer)
	}
	return held
}

// answer is one of an engine.
type answer[T any] struct {
	value T
	err   error
}

// ask asks engines at once. Those that fail have little to say, and are counted.
func (o *Owners) ask(urls []string, f func(url string) (query.Held, error)) (answers []query.Held) {
	for _, a := range askAll(urls, f) {
		o.metrics.asked.Inc()
		if a.err != nil {
			o.metrics.failed.Inc()
			o.cfg.Log.Debug("an engine was not asked", "err", a.err)
		}
		answers = append(answers, a.value)
	}
	return answers
}

// askAll returns the answers in the order of the engines.
func askAll[T any](urls []string, f func(url string) (T, error)) []answer[T] {
	answers := make([]answer[T], len(urls))
	var wg sync.WaitGroup
	for i, url := range urls {
		wg.Go(func() { answers[i].value, answers[i].err = f(url) })
	}
	wg.Wait()
	return answers
}

// unique removes doubles and keeps the order.
func unique(urls []string) (out []string) {
	for _, url := range urls {
		if !slices.Contains(out, url) {
			out = append(out, url)
		}
	}
	return out
}

// statusTimeout is how long an engine may take to tell the state of a channel.
const statusTimeout = 2 * time.Second

// Status returns the state of a PV as the engine sees it that seals its shard, or
// else another one that captures it. An error says that none could be asked.
func (o *Owners) Status(ctx context.Context, pv string) (s capture.Status, captured bool, err error) {
	in, _ := o.atlas.Load().find(pv)
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
	for _, a := range askAll(unique(urls), func(url string) (v view, err error) {
		v.Status, v.captured, err = o.peers.Status(ctx, url, pv)
		return v, err
	}) {
		o.metrics.asked.Inc()
		switch {
		case a.err != nil:
			o.metrics.failed.Inc()
			err = a.err
		case a.value.captured:
			return a.value.Status, true, nil
		}
	}
	return s, false, err
}
