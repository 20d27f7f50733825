package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine"
)

// The sealer of a shard carries out the orders in spec.erasures:
//
//	spec.erasures ── due ──▶ worker ──▶ engine.Erase ──▶ erasing ──▶ status
//	                  ▲                                     │
//	                  └── again, until the samples are removed from blocks
//
// The store knows what is hidden and what is removed, so nothing is kept on disk. A new process, and a new sealer, carry out
// each order again. A deletion cannot be undone, so the API server must confirm an order just before samples are hidden.

const (
	// eraseEvery is the shortest time between two looks at a deletion whose samples are being removed from blocks, and
	// eraseSlowest the longest. A look reads the directory entry of each PV, at most one in erasePace on average.
	eraseEvery   = time.Minute
	eraseSlowest = time.Hour
	erasePace    = 100 * time.Millisecond
	// eraseRetry is the time after which a deletion that failed is tried again.
	eraseRetry = 5 * time.Second
)

// erasing is how far a deletion is, as this process knows it.
type erasing struct {
	status v1alpha1.ShardErasureStatus
	// next is when the engine carries out the order again. It is zero once nothing is left to do.
	next time.Time
	// failed means that the last attempt failed, so what was known before is still true.
	failed bool
}

// dueErasures returns the deletions that the engine must carry out now. The engine must seal the shard, and capture all its
// channels: it could otherwise take a new PV for one that the archive does not know.
func (s *shard) dueErasures(now time.Time) (due []v1alpha1.ShardErasure) {
	if !s.sealing {
		for _, e := range s.erasing {
			e.next = now // the engine carries out all orders again when it seals again
		}
		return nil
	}
	if s.object == nil || s.presence != handover.Present || !s.decision.Hold || !s.applied || !s.complete() {
		return nil
	}
	for i := range s.spec.Erasures {
		order := &s.spec.Erasures[i]
		if e := s.erasing[order.Name]; e == nil || !e.next.IsZero() && !now.Before(e.next) {
			due = append(due, *order)
		}
	}
	return due
}

// dropErasures forgets deletions that are no longer ordered.
func (s *shard) dropErasures() {
	for name := range s.erasing {
		if !hasErasure(&s.spec, name) {
			delete(s.erasing, name)
		}
	}
}

// erasureStatuses returns how far the deletions of the spec are, as far as this engine knows.
func (s *shard) erasureStatuses(engine string) (out []v1alpha1.ShardErasureStatus) {
	for i := range s.spec.Erasures {
		if st := s.erasureStatus(engine, s.spec.Erasures[i].Name); st != nil {
			out = append(out, *st)
		}
	}
	return out
}

// erasureStatus returns how far a deletion is, or nil if this engine does not know. A restarted process repeats what the
// previous one reported.
func (s *shard) erasureStatus(engine, name string) *v1alpha1.ShardErasureStatus {
	if e := s.erasing[name]; e != nil {
		return &e.status
	}
	reported := handover.Entry(s.status(), engine)
	if reported == nil {
		return nil
	}
	at := slices.IndexFunc(reported.Erasures, func(st v1alpha1.ShardErasureStatus) bool { return st.Name == name })
	if at < 0 {
		return nil
	}
	return &reported.Erasures[at]
}

// eraseSamples carries out the deletions of samples of a shard that are due. The worker tries again after an error.
func (a *Agent) eraseSamples(ctx context.Context, index int) (failed error) {
	a.mu.Lock()
	var due []v1alpha1.ShardErasure
	s := a.shards[index]
	if s != nil {
		due = s.dueErasures(time.Now())
	}
	a.mu.Unlock()
	for i := range due {
		stands, err := a.confirmErasure(ctx, index, due[i].Name)
		if err != nil {
			failed = err
		}
		if !stands {
			continue
		}
		next := a.erase(ctx, index, &due[i])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.mu.Lock()
		s.noteErasure(a.cfg.Name, next, time.Now())
		a.mu.Unlock()
		a.poke()
	}
	return failed
}

// confirmErasure reads the ArchiveShard again before the samples of a deletion are hidden, and reports whether the order stands. An
// order that this process got earlier may be withdrawn: because somebody has noticed a mistake, or because the PVs move to
// another shard. The object just read decides: the mirror may put an older state back into a.shards at any moment.
func (a *Agent) confirmErasure(ctx context.Context, index int, name string) (stands bool, err error) {
	a.mu.Lock()
	s := a.shards[index]
	if s == nil || s.presence != handover.Present {
		a.mu.Unlock()
		return false, nil
	}
	if s.isHidden(a.cfg.Name, name) {
		stands = hasErasure(&s.spec, name)
		a.mu.Unlock()
		return stands, nil
	}
	a.mu.Unlock()
	obj, err := a.readShard(ctx, index)
	if err != nil {
		a.log.Warn("samples are deleted when the API server has confirmed the order; the agent retries", "shard", index, "err", err)
		return false, err
	}
	return obj != nil && hasErasure(&obj.Spec, name), nil
}

// hasErasure reports whether a spec orders a deletion.
func hasErasure(spec *v1alpha1.ArchiveShardSpec, name string) bool {
	return slices.ContainsFunc(spec.Erasures, func(o v1alpha1.ShardErasure) bool { return o.Name == name })
}

// isHidden reports whether it is known that no reader sees the samples of a deletion.
func (s *shard) isHidden(engine, name string) bool {
	st := s.erasureStatus(engine, name)
	return st != nil && st.State != v1alpha1.DeletionWaiting
}

// noteErasure notes how far a deletion is. Deleted samples stay deleted, so a failed attempt does not change the state back.
func (s *shard) noteErasure(engine string, next erasing, now time.Time) {
	was := s.erasureStatus(engine, next.status.Name)
	if was != nil && next.failed && next.status.State == v1alpha1.DeletionWaiting {
		next.status.State, next.status.PVs, next.status.Removed = was.State, was.PVs, was.Removed
	}
	next.status.Since = &metav1.Time{Time: now.Truncate(time.Second)}
	if was != nil && was.State == next.status.State {
		next.status.Since = was.Since
	}
	if s.erasing == nil {
		s.erasing = map[string]*erasing{}
	}
	s.erasing[next.status.Name] = &next
}

// erase carries out a deletion of samples.
func (a *Agent) erase(ctx context.Context, index int, order *v1alpha1.ShardErasure) erasing {
	d := engine.Deletion{From: math.MinInt64, Group: order.Group, Reason: order.Reason, Shard: &index}
	if order.From != nil {
		d.From = *order.From
	}
	var out engine.Erased
	var err error
	if order.To == nil {
		err = errors.New("the order has no end")
	} else {
		d.To = *order.To
		if d.PVs, err = a.pvsToErase(ctx, order); err == nil {
			out, err = a.cfg.Engine.Erase(ctx, d)
		}
	}
	next := erasureState(order.Name, len(d.PVs), &out, err, time.Now())
	a.logErasure(index, order, &out, &next, err)
	return next
}

// pvsToErase reads the PVs of a deletion.
func (a *Agent) pvsToErase(ctx context.Context, order *v1alpha1.ShardErasure) (pvs []string, err error) {
	for _, name := range order.Lists {
		data, err := a.readDeletion(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("reading the list of PVs: %s", stableReason(err))
		}
		l, err := decodeList(data)
		if err != nil {
			return nil, fmt.Errorf("decoding the list of PVs: %w", err)
		}
		for i := range l.channels {
			pvs = append(pvs, l.channels[i].PV)
		}
	}
	return pvs, nil
}

// erasureState returns how far a deletion of n PVs is after an attempt, and when to try again.
func erasureState(name string, n int, out *engine.Erased, err error, now time.Time) erasing {
	st := v1alpha1.ShardErasureStatus{Name: name, State: v1alpha1.DeletionWaiting, PVs: int32(n), Removed: int32(out.Removed)}
	after := min(max(eraseEvery, time.Duration(n)*erasePace), eraseSlowest)
	switch {
	case err != nil:
		after = eraseRetry
		if n > 0 && out.HidesAll(n) {
			st.State = v1alpha1.DeletionHidden
		}
		// While another engine takes over the shard, there is nothing to report.
		if !errors.Is(err, engine.ErrNotSealing) {
			st.Message = clip(err.Error(), maxMessage)
		}
	case out.Unknown > 0:
		st.Message = clip(unknownText(out), maxMessage)
	case out.Removed == n:
		st.State = v1alpha1.DeletionDone
		return erasing{status: st}
	default:
		st.State = v1alpha1.DeletionHidden
	}
	return erasing{status: st, next: now.Add(after), failed: err != nil}
}

// unknownText says which PVs of a deletion the archive does not know. Their samples may still come, for example from the
// spool of an engine that is away, so the deletion is not done.
func unknownText(out *engine.Erased) string {
	which := out.FirstUnknown
	if out.Unknown > 1 {
		which = fmt.Sprintf("%s and %d other PVs", which, out.Unknown-1)
	}
	return "the archive does not know " + which + ": correct the names, or remove them from the deletion. The samples of the other PVs are hidden"
}

// logErasure reports what is new.
func (a *Agent) logErasure(index int, order *v1alpha1.ShardErasure, out *engine.Erased, next *erasing, err error) {
	log := a.log.With("shard", index, "group", order.Group, "deletion", order.Name)
	if out.New > 0 {
		log.Warn("samples deleted: no reader sees them any longer", "pvs", out.New, "reason", order.Reason)
	}
	switch {
	case next.status.Message != "" && err != nil:
		log.Error("deleting samples failed; the agent retries", "err", err)
	case next.status.State == v1alpha1.DeletionDone:
		log.Info("deleted samples are removed from the archive", "pvs", out.Removed)
	}
}
