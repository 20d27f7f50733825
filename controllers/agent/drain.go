package agent

import (
	"context"
	"maps"
	"time"
)

// draining is an engine's wish to end.
type draining struct {
	// versions are those of the ArchiveShards held, and progress is when one of them
	// last changed, or went.
	versions map[int]string
	progress time.Time
	// empty is when the engine was first seen without a shard.
	empty time.Time
}

// Limits of draining.
const (
	// answerWithin is how long nothing may happen to the shards: the operator is
	// away, or there is no engine to take them, as when a namespace is deleted.
	answerWithin = 30 * time.Second
	// toldWithin is how long the last answers to the API server may take.
	toldWithin = 5 * time.Second
	drainEvery = 100 * time.Millisecond
)

// Ends of draining, for the log.
const (
	drainEmpty   = "every shard is released"
	drainGone    = "the shards are being deleted"
	drainIgnored = "nobody takes the shards"
	drainCut     = "time is up"
)

// Drain asks for the shards to be moved to other engines and waits until the
// engine holds none; but not longer than ctx, nor when nobody answers, nor when
// the shards are being deleted. Run must be running. It returns why it ended. What
// is still held then is for the engine to flush and close.
func (a *Agent) Drain(ctx context.Context) (why string) {
	a.mu.Lock()
	a.draining = &draining{versions: a.heldVersions(), progress: time.Now()}
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
	at := a.remains()
	isEmpty := at.held == 0 && len(open) == 0
	if isEmpty && a.draining.empty.IsZero() {
		a.draining.empty = now
	}
	switch {
	case isEmpty && (at.told || now.Sub(a.draining.empty) >= toldWithin):
		return drainEmpty
	case at.held > 0 && at.going == at.held:
		return drainGone
	case !at.answered && now.Sub(a.draining.since) >= answerWithin:
		return drainIgnored
	}
	return ""
}

// remains is what draining has come to.
type remains struct {
	held, going int  // shards, and those of them that are being deleted
	answered    bool // something was done for a shard
	told        bool // the statuses say which shards are given up
}

// remains counts. It needs the lock.
func (a *Agent) remains() remains {
	r := remains{told: true}
	for i, s := range a.shards {
		if !s.decision.hold {
			r.told = r.told && s.isTold(a.cfg.Name)
			continue
		}
		r.held++
		if s.gone || s.object != nil && s.object.DeletionTimestamp != nil {
			r.going++
		}
		before, was := a.draining.before[i]
		r.answered = r.answered || was && !slices.Equal(before, s.spec.Engines)
	}
	r.answered = r.answered || r.held < len(a.draining.before)
	return r
}
