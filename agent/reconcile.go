package agent

import (
	"errors"
	"slices"
	"time"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine"
	"varve.dev/varve/engine/capture"
)

var (
	errDraining = errors.New("the engine is shutting down")
	errNoAnswer = errors.New("waiting for the API server: the assignment is not known yet")
)

// fetchEvery is how often an ArchiveShard that is not watched is fetched by name.
const fetchEvery = 10 * time.Second

// reconcile observes the ArchiveShards, decides, applies the assignment and publishes the
// result. It reports whether it should run again soon. Only Run calls it, so assignments
// reach the engine in order.
func (a *Agent) reconcile(now time.Time) (busy bool) {
	a.mu.Lock()
	a.observeLocked(now)
	changed := a.decideLocked()
	changed = a.gatherListsLocked() || changed
	var next engine.Assignment
	var fresh []*shard
	if changed {
		next, fresh = a.assignmentLocked()
	}
	a.mu.Unlock()

	if changed {
		a.cfg.Engine.Apply(next)
		now = time.Now()
	}
	open, sealing, waiting := a.cfg.Engine.Held(), a.cfg.Engine.Sealing(), a.cfg.Engine.Waiting()

	a.mu.Lock()
	defer a.mu.Unlock()
	if changed {
		a.assigned = true
		for _, s := range fresh {
			s.join = handover.Joining{Since: now}
		}
		a.markUnsaved()
	}
	for i, s := range a.shards {
		age, waits := waiting[i]
		s.updateWaiting(waits, age, now)
	}
	busy = a.updatePhasesLocked(now, open, sealing)
	a.queueWritesLocked(now)
	return busy || a.draining != nil
}

// observeLocked updates the shards from the mirrored ArchiveShards.
func (a *Agent) observeLocked(now time.Time) {
	watched, synced := a.objects.All()
	if !synced {
		return
	}
	seen := map[int]bool{}
	for _, obj := range watched {
		if i, ok := a.indexOf(obj); ok && !seen[i] && a.observeShard(i, obj) {
			seen[i] = true
		}
	}
	for i, s := range a.shards {
		if seen[i] {
			s.lookedUp = time.Time{}
			continue
		}
		if s.lookedUp.IsZero() { // it has just disappeared
			s.presence = handover.Missing
		}
		if now.Sub(s.lookedUp) >= fetchEvery {
			s.lookedUp = now
			a.fetches.add(i)
		}
	}
}

// indexOf returns the index of an ArchiveShard. The upper half of the indexes is for PVs
// that two engines capture.
func (a *Agent) indexOf(obj *v1alpha1.ArchiveShard) (index int, ok bool) {
	if obj.Spec.Index == nil || obj.Spec.ArchiverRef.Name != a.cfg.Archiver {
		return 0, false
	}
	index = int(*obj.Spec.Index)
	return index, index >= 0 && index < 2*a.cfg.Shards
}

// observeShard updates a shard from a watched ArchiveShard. It returns false if another
// ArchiveShard already represents the shard.
func (a *Agent) observeShard(index int, obj *v1alpha1.ArchiveShard) bool {
	s := a.shards[index]
	if s == nil {
		if _, named := handover.Order(&obj.Spec, a.cfg.Name); !named && handover.Entry(obj.Status, a.cfg.Name) == nil {
			return false // a left-over label
		}
		s = &shard{index: index, name: obj.Name, deleted: map[string]bool{}}
		a.shards[index] = s
	}
	if s.name != obj.Name {
		return false
	}
	s.update(obj, handover.Present)
	return true
}

// decideLocked updates the hand-over decision of every shard.
func (a *Agent) decideLocked() (changed bool) {
	for _, s := range a.shards {
		was := s.decision
		if s.decide(a.cfg.Name) {
			// A shard that the engine does not have yet is assigned when its lists have been read.
			changed = changed || s.applied
		}
		if d := s.decision; d.Orphaned != was.Orphaned || d.Hold != was.Hold {
			a.log.Info("hand-over decision changed", "shard", s.index, "hold", d.Hold, "seal", d.Seal, "orphaned", d.Orphaned)
		}
	}
	return changed
}

// gatherListsLocked adopts the lists that have been read, and requests the missing ones.
func (a *Agent) gatherListsLocked() (changed bool) {
	want := map[string]bool{}
	for _, s := range a.shards {
		if s.decision.Hold {
			for _, ref := range s.spec.Lists {
				want[ref.Name] = true
			}
			for _, f := range s.spec.Former {
				want[f.Name] = true
			}
		}
	}
	a.lists.Want(want)
	for _, s := range a.shards {
		if !s.decision.Hold {
			continue
		}
		if s.updateLists(a.listProgress(s.spec.Lists)) {
			changed = true
		}
		if s.updateFormer(a.readList) && s.listsTried {
			changed = true
		}
	}
	return changed
}

// readList returns a list, or nil if it has not been read.
func (a *Agent) readList(name string) *list {
	l, _, _ := a.lists.Get(name)
	return l
}

func (a *Agent) listProgress(refs []v1alpha1.ChannelListReference) progress {
	p := progress{lists: lists{}, broken: map[string]string{}}
	for _, ref := range refs {
		l, ok, err := a.lists.Get(ref.Name)
		switch {
		case ok:
			p.lists[ref.Name] = l
		case err != nil:
			p.broken[ref.Name] = stableReason(err)
		default:
			p.wait = true
		}
	}
	return p
}

// assignmentLocked returns the engine's next assignment, and the shards that are new in it.
func (a *Agent) assignmentLocked() (next engine.Assignment, fresh []*shard) {
	next = engine.Assignment{}
	held := map[int]*shard{}
	for i, s := range a.shards {
		if s.decision.Hold && s.listsTried {
			held[i] = s
		} else {
			s.applied = false
		}
	}
	staying := stayingChannels(held)
	for i, s := range held {
		channels := s.ownChannels()
		if more := staying[i]; len(more) > 0 {
			channels = slices.Concat(channels, more)
		}
		next[i], s.channels = engine.Shard{
			Channels: channels, Left: s.left(), Seal: s.decision.Seal, MarkRemoved: s.removes && s.decision.Seal,
		}, len(channels)
		if !s.applied {
			s.applied = true
			fresh = append(fresh, s)
		}
	}
	return next, fresh
}

// updatePhasesLocked updates the phases, given the shards that the engine has open and those
// that it seals. It forgets finished shards, and reports whether any shard is joining or
// draining.
func (a *Agent) updatePhasesLocked(now time.Time, open []int, sealing map[int]bool) (busy bool) {
	for i, s := range a.shards {
		s.sealing = s.decision.Hold && sealing[i]
		if s.applied && !s.joined && s.complete() {
			st := a.cfg.Engine.ShardStatus(i)
			s.connected = finalChannels(&st)
			s.joined = s.join.Done(now, s.connected, s.channels) && st.Claimed
		}
		p := handover.Phase(s.decision, s.joined, slices.Contains(open, i))
		if p != s.phase {
			a.log.Info("shard changed its phase", "shard", i, "phase", string(p), "channels", s.channels)
		}
		s.setPhase(p, now)
		busy = busy || p == v1alpha1.Joining || p == v1alpha1.Draining
		if s.isOver(a.cfg.Name, slices.Contains(open, i)) {
			delete(a.shards, i)
		}
	}
	a.metrics.observe(a.shards)
	return busy
}

// finalChannels counts the channels of a shard that are connected, paused, or cannot be
// archived. There is no reason to wait longer for these channels.
func finalChannels(st *engine.ShardStatus) int {
	return st.States[capture.Connected] + st.States[capture.Unsupported] + st.States[capture.Paused]
}

// queueWritesLocked queues the statuses to write, and the deletions to carry out.
func (a *Agent) queueWritesLocked(now time.Time) {
	for i, s := range a.shards {
		if s.object == nil || s.presence == handover.Missing {
			continue
		}
		if u := s.statusUpdate(a.cfg.Name); !u.isAppliedTo(s.status()) && !s.isWritten(&u) {
			a.writes.add(i)
		}
		if len(s.pendingDeletions(a.cfg.Name, now)) > 0 {
			a.deletes.add(i)
		}
		s.dropErasures()
		if len(s.dueErasures(now)) > 0 {
			a.erases.add(i)
		}
	}
}
