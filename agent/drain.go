package agent

import (
	"context"
	"maps"
	"time"

	"varve.dev/varve/api/v1alpha1"
)

// draining is the state of a drain: the engine shuts down and hands its shards over.
type draining struct {
	// versions are the versions of the held ArchiveShards. progress is the time when a held
	// ArchiveShard last changed or was released.
	versions map[int]string
	progress time.Time
	// empty is when the engine was first seen without shards.
	empty time.Time
}

// Limits of draining.
const (
	// progressTimeout is how long a drain waits without any change to the shards while an operator is
	// there. Nothing changes then if no engine can take over the shards, for example because
	// spec.engines.replicas is 0. While no operator is there, a drain waits until its time limit: an operator
	// that comes back moves the shards.
	progressTimeout = 30 * time.Second
	// othersTimeout replaces progressTimeout while another engine must drain one of the shards
	// first. It is longer than the time for which the operator waits for that engine.
	othersTimeout = 3 * time.Minute
	// statusTimeout is how long the last status writes may take.
	statusTimeout = 5 * time.Second
	drainEvery    = 100 * time.Millisecond
)

// Results of a drain, for the log.
const (
	drainEmpty   = "all shards are released"
	drainGone    = "the shards are being deleted"
	drainIgnored = "no engine takes over the shards"
	drainCut     = "the time limit has passed"
)

// Drain requests that the shards be moved to other engines, and waits until the engine
// holds none. It ends early when ctx ends, when no engine takes over the shards, or when
// the shards are being deleted. It returns why it ended. The caller must then flush and
// close the shards that the engine still holds. Run must be running.
func (a *Agent) Drain(ctx context.Context) (why string) {
	a.mu.Lock()
	a.draining = &draining{versions: a.heldVersionsLocked(), progress: time.Now()}
	a.mu.Unlock()
	a.reports.expire()
	a.poke()
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	for {
		if why := a.drainResult(time.Now()); why != "" {
			return why
		}
		select {
		case <-ctx.Done():
			return drainCut
		case <-tick.C:
		}
	}
}

// drainResult returns why the drain has ended, or "" while it has not.
func (a *Agent) drainResult(now time.Time) string {
	open := a.cfg.Engine.Held()
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.draining
	held, deleting, written := a.remainingLocked()
	isEmpty := held == 0 && len(open) == 0
	if isEmpty && d.empty.IsZero() {
		d.empty = now
	}
	if versions := a.heldVersionsLocked(); !maps.Equal(versions, d.versions) {
		d.versions, d.progress = versions, now
	}
	switch {
	case isEmpty && (written || now.Sub(d.empty) >= statusTimeout):
		return drainEmpty
	case held > 0 && deleting == held:
		return drainGone
	case held > 0 && a.isStuckLocked(now, d.progress):
		return drainIgnored
	}
	return ""
}

// remainingLocked counts the held shards, and how many of them are being deleted. written
// means that the status of every released shard shows its release.
func (a *Agent) remainingLocked() (held, deleting int, written bool) {
	written = true
	for _, s := range a.shards {
		switch {
		case !s.decision.Hold:
			written = written && s.isReleaseWritten(a.cfg.Name)
		case s.gone || s.object != nil && s.object.DeletionTimestamp != nil:
			held, deleting = held+1, deleting+1
		default:
			held++
		}
	}
	return held, deleting, written
}

// isStuckLocked reports whether the shards have not changed for too long although an operator is there, or
// although no order could be seen.
func (a *Agent) isStuckLocked(now, progress time.Time) bool {
	settled, since := a.asked.settled(now)
	if !settled {
		return false
	}
	waited := min(now.Sub(progress), now.Sub(since))
	if a.othersDrainLocked() {
		return waited >= othersTimeout
	}
	return waited >= progressTimeout
}

// othersDrainLocked reports whether another engine is still draining one of the held shards.
// The operator orders this engine to drain only after the other one has finished or exceeded
// its time limit.
func (a *Agent) othersDrainLocked() bool {
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

// heldVersionsLocked returns the last known versions of the held ArchiveShards.
func (a *Agent) heldVersionsLocked() map[int]string {
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
