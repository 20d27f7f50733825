package standalone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"varve.dev/varve/engine"
	"varve.dev/varve/engine/serve/audit"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/groups/compile"
)

// eraser carries out the deletions of samples that groups request:
//
//	Driver ── order ──▶ latest orders ──▶ run ──▶ engine.Erase, again every minute, until nothing is stored any longer
//
// The archive stores the progress. After a restart, the engine continues with the deletions that are not done.
type eraser struct {
	erase func(context.Context, engine.Deletion) (engine.Erased, error)
	audit func(*audit.Entry) // may be nil
	log   *slog.Logger
	every time.Duration
	wake  chan struct{} // of capacity 1; never closed

	mu     sync.Mutex
	orders []compile.Erasure
	states map[string]erasureState // by orderKey
}

// erasureState is how far a deletion is.
type erasureState struct {
	engine.Erased
	err error
}

func (s *erasureState) isDone() bool { return s.err == nil && s.Removed == s.Hidden }

const (
	// eraseEvery is the time between two tries of deletions that are not done.
	eraseEvery = time.Minute
	// startEvery is the time before the second try if the engine does not seal yet, because it has just started. It
	// doubles with each try.
	startEvery = time.Second
)

func newEraser(d *Driver) *eraser {
	return &eraser{erase: d.Erase, audit: d.Audit, log: d.Log, every: eraseEvery, wake: make(chan struct{}, 1), states: map[string]erasureState{}}
}

func orderKey(o *compile.Erasure) string {
	return fmt.Sprint(o.Group, " ", o.From, " ", o.To, " ", o.Reason, " ", o.PVs)
}

// order replaces the orders.
func (e *eraser) order(all []compile.Erasure) {
	e.mu.Lock()
	e.orders = all
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// run carries out orders until ctx ends.
func (e *eraser) run(ctx context.Context) {
	tick := time.NewTicker(e.every)
	defer tick.Stop()
	next := startEvery
	for {
		select {
		case <-e.wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if e.pass(ctx) {
			next = e.every
		}
		tick.Reset(next)
		next = min(2*next, e.every)
	}
}

// pass carries out the orders that are not done, and forgets the states of others. It reports whether the engine seals.
func (e *eraser) pass(ctx context.Context) (seals bool) {
	e.mu.Lock()
	orders, was := e.orders, e.states
	e.mu.Unlock()
	seals = true
	states := make(map[string]erasureState, len(orders))
	for i := range orders {
		o, key := &orders[i], orderKey(&orders[i])
		s, known := was[key]
		if !known || !s.isDone() {
			s = e.carryOut(ctx, o, s)
		}
		if ctx.Err() != nil {
			return seals
		}
		seals = seals && !errors.Is(s.err, engine.ErrNotSealing)
		states[key] = s
	}
	e.mu.Lock()
	e.states = states
	e.mu.Unlock()
	return seals
}

// carryOut carries out an order, and reports what is new.
func (e *eraser) carryOut(ctx context.Context, o *compile.Erasure, was erasureState) (s erasureState) {
	s.Erased, s.err = e.erase(ctx, engine.Deletion{PVs: o.PVs, From: o.From, To: o.To, Group: o.Group, Reason: o.Reason})
	switch {
	case ctx.Err() != nil:
		return s
	case errors.Is(s.err, engine.ErrNotSealing): // it starts
	case s.err != nil:
		e.log.Error("deleting samples failed; it is tried again", "group", o.Group, "deletion", o.Index, "err", s.err)
	case s.isDone() && !was.isDone():
		e.log.Info("deleted samples are removed from the archive", "group", o.Group, "deletion", o.Index, "pvs", s.Removed)
	}
	if s.New > 0 {
		e.log.Warn("samples deleted: no reader sees them any longer", "group", o.Group, "deletion", o.Index, "pvs", s.New, "range", o.Range(), "reason", o.Reason)
		e.note(o, s.New)
	}
	return s
}

// auditPVs is the maximum number of PVs in a line of the audit log.
const auditPVs = 100

// note writes a deletion to the audit log.
func (e *eraser) note(o *compile.Erasure, n int) {
	if e.audit == nil {
		return
	}
	first := o.PVs[:min(len(o.PVs), auditPVs)]
	e.audit(&audit.Entry{
		Time: time.Now(), User: o.Group, Method: "manifest", Call: fmt.Sprintf("deletions[%d]", o.Index), PVs: first, More: len(first) < len(o.PVs),
		To: time.Unix(0, o.To+1).UTC().Format(time.RFC3339), From: o.Begin(), Decision: audit.Allowed,
		Reason: fmt.Sprintf("samples of %d PVs deleted: %s", n, o.Reason),
	})
}

// problems returns the state of the deletions of a group, for people.
func (e *eraser) problems(group string) (out []overview.Problem) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.orders {
		o := &e.orders[i]
		if o.Group != group {
			continue
		}
		s, known := e.states[orderKey(o)]
		p := overview.Problem{Severity: overview.SeverityInfo, Advice: "Leave the entry in the manifest until the deletion is done."}
		what := fmt.Sprintf("deletions[%d], %s of %d PVs", o.Index, o.Range(), len(o.PVs))
		switch {
		case !known:
			p.Text = what + ": waiting to begin"
		case s.err != nil:
			p.Severity, p.Text = overview.SeverityWarning, fmt.Sprintf("%s: not done: %v", what, s.err)
			p.Advice = "Varve tries again every minute. It may already hide the samples of some of the PVs."
		case s.isDone():
			p.Text, p.Advice = what+": done", "Remove the entry from the manifest. The samples stay deleted."
		default:
			p.Text = fmt.Sprintf("%s: no reader sees the samples any longer; they are removed from disk for %d of %d PVs", what, s.Removed, s.Hidden)
		}
		if s.Unknown > 0 {
			p.Text += fmt.Sprintf("; %d PVs are not in the archive", s.Unknown)
		}
		out = append(out, p)
	}
	return out
}
