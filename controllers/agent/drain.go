package agent

import (
	"context"
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// draining is an engine's wish to end.
type draining struct {
	since time.Time
	// before are the engines of each shard held when it began.
	before map[int][]v1alpha1.ShardEngine
	// empty is when the engine was first seen without a shard.
	empty time.Time
}

// Limits of draining.
const (
	// answerWithin is how long a first shard may take to be given to another engine.
	answerWithin = 30 * time.Second
	// toldWithin is how long the last answers to the API server may take.
	toldWithin = 5 * time.Second
	drainEvery = 100 * time.Millisecond
)

// Ends of draining, for the log.
const (
	drainEmpty   = "every shard is released"
	drainGone    = "the shards are being deleted"
	drainIgnored = "no shard was given to another engine in time"
	drainCut     = "time is up"
)

// Drain asks for the shards to be moved to other engines and waits until the
// engine holds none; but not longer than ctx, nor when nobody answers, nor when
// the shards are being deleted. Run must be running. It returns why it ended. What
// is still held then is for the engine to flush and close.
func (a *Agent) Drain(ctx context.Context) (why string) {
	now := time.Now()
	a.mu.Lock()
	a.draining = &draining{since: now, before: map[int][]v1alpha1.ShardEngine{}}
	for i, s := range a.shards {
		if s.decision.hold {
			a.draining.before[i] = s.spec.Engines
		}
	}
	a.mu.Unlock()
	a.reports.expire()
	a.poke()
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	for {
		if why := a.drained(time.Now()); why != "" {
			return why
		}
		select {
		case <-ctx.Done():
			return drainCut
		case <-tick.C:
		}
	}
}

// drained returns why draining is over; empty: it is not.
func (a *Agent) drained(now time.Time) string {
	open := a.cfg.Engine.Held()
	a.mu.Lock()
	defer a.mu.Unlock()
	held, going, answered, told := 0, 0, false, true
	for i, s := range a.shards {
		if !s.decision.hold {
			told = told && s.isTold(a.cfg.Name)
			continue
		}
		held++
		if s.gone || s.object != nil && s.object.DeletionTimestamp != nil {
			going++
		}
		before, was := a.draining.before[i]
		answered = answered || was && !slices.Equal(before, s.spec.Engines)
	}
	answered = answered || held < len(a.draining.before)
	if held == 0 && len(open) == 0 && a.draining.empty.IsZero() {
		a.draining.empty = now
	}
	switch {
	case held == 0 && len(open) == 0 && (told || now.Sub(a.draining.empty) >= toldWithin):
		return drainEmpty
	case held > 0 && going == held:
		return drainGone
	case !answered && now.Sub(a.draining.since) >= answerWithin:
		return drainIgnored
	}
	return ""
}
