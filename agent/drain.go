package agent

import (
	"context"
	"maps"
	"time"

	"varve.dev/varve/api/v1alpha1"
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
	// othersWithin is the same while another engine is to drain one of them first: longer
	// than the operator waits for that.
	othersWithin = 3 * time.Minute
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
	d := a.draining
	held, going, told := a.remaining()
	isEmpty := held == 0 && len(open) == 0
	if isEmpty && d.empty.IsZero() {
		d.empty = now
	}
	if versions := a.heldVersions(); !maps.Equal(versions, d.versions) {
		d.versions, d.progress = versions, now
	}
	switch {
	case isEmpty && (told || now.Sub(d.empty) >= toldWithin):
		return drainEmpty
	case held > 0 && going == held:
		return drainGone
	case held > 0 && a.isIgnored(now.Sub(d.progress)):
		return drainIgnored
	}
	return ""
}

// remaining counts the shards held, and those of them that are being deleted. told
// says that the statuses have which ones are given up. It needs the lock.
func (a *Agent) remaining() (held, going int, told bool) {
	told = true
	for _, s := range a.shards {
		switch {
		case !s.decision.Hold:
			told = told && s.isTold(a.cfg.Name)
		case s.gone || s.object != nil && s.object.DeletionTimestamp != nil:
			held, going = held+1, going+1
		default:
			held++
		}
	}
	return held, going, told
}

// isIgnored reports whether nothing has happened to the shards for too long. It needs the
// lock.
func (a *Agent) isIgnored(since time.Duration) bool {
	if a.underWay() {
		return since >= othersWithin
	}
	return since >= answerWithin
}

// underWay reports whether another engine is still draining one of the shards held: until
// it has, or the operator waits for it no more, this engine's turn does not come. It needs
// the lock.
func (a *Agent) underWay() bool {
	for _, s := range a.shards {
		if !s.decision.Hold {
			continue
		}
		for _, e := range s.spec.Engines {
			if e.Name != a.cfg.Name && e.Order == v1alpha1.OrderDrain {
				return true
			}
		}
	}
	return false
}

// heldVersions returns the versions of the ArchiveShards held, as seen last. It
// needs the lock.
func (a *Agent) heldVersions() map[int]string {
	versions := map[int]string{}
	for i, s := range a.shards {
		if !s.decision.Hold {
			continue
		}
		if versions[i] = ""; s.object != nil {
			versions[i] = s.object.ResourceVersion
		}
	}
	return versions
}
