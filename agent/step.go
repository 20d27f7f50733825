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
	errDraining = errors.New("the engine was asked to end")
	errNoAnswer = errors.New("the API server has not said yet what to capture")
)

// lookEvery is how often an ArchiveShard that is not watched is asked for by name.
const lookEvery = 10 * time.Second

// step looks at everything once, and reports whether it is to do so again soon.
// Only Run calls it, so assignments reach the engine in order.
func (a *Agent) step(now time.Time) (busy bool) {
	a.mu.Lock()
	a.observe(now)
	changed := a.decide()
	changed = a.gather() || changed
	var next engine.Assignment
	var fresh []*shard
	if changed {
		next, fresh = a.assignment()
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
		s.wait(waits, age, now)
	}
	busy = a.advance(now, open, sealing)
	a.publish(now)
	return busy || a.draining != nil
}

// observe brings what is known of the shards up to date.
func (a *Agent) observe(now time.Time) {
	watched, synced := a.objects.All()
	if !synced {
		return
	}
	seen := map[int]bool{}
	for _, obj := range watched {
		if i, ok := a.indexOf(obj); ok && !seen[i] && a.see(i, obj) {
			seen[i] = true
		}
	}
	for i, s := range a.shards {
		if seen[i] {
			s.lookedUp = time.Time{}
			continue
		}
		if s.lookedUp.IsZero() { // it just vanished
			s.presence = handover.Missing
		}
		if now.Sub(s.lookedUp) >= lookEvery {
			s.lookedUp = now
			a.looks.add(i)
		}
	}
}

// indexOf returns the shard that an ArchiveShard is of. There are as many again for
// PVs that two engines capture.
func (a *Agent) indexOf(obj *v1alpha1.ArchiveShard) (index int, ok bool) {
	if obj.Spec.Index == nil || obj.Spec.ArchiverRef.Name != a.cfg.Archiver {
		return 0, false
	}
	index = int(*obj.Spec.Index)
	return index, index >= 0 && index < 2*a.cfg.Shards
}

// see takes a watched ArchiveShard. False: another one is taken for that shard.
func (a *Agent) see(index int, obj *v1alpha1.ArchiveShard) bool {
	s := a.shards[index]
	if s == nil {
		if _, named := handover.Order(&obj.Spec, a.cfg.Name); !named && handover.Entry(obj.Status, a.cfg.Name) == nil {
			return false // a label that was left over
		}
		s = &shard{index: index, name: obj.Name, deleted: map[string]bool{}}
		a.shards[index] = s
	}
	if s.name != obj.Name {
		return false
	}
	s.see(obj, handover.Present)
	return true
}

// decide decides about every shard.
func (a *Agent) decide() (changed bool) {
	for _, s := range a.shards {
		was := s.decision
		if s.decide(a.cfg.Name) {
			// What the engine does not have yet changes when its lists are read.
			changed = changed || s.applied
		}
		if d := s.decision; d.Orphaned != was.Orphaned || d.Hold != was.Hold {
			a.log.Info("shard decided", "shard", s.index, "hold", d.Hold, "seal", d.Seal, "orphaned", d.Orphaned)
		}
	}
	return changed
}

// gather takes the lists that are read, and asks for others.
func (a *Agent) gather() (changed bool) {
	want := map[string]bool{}
	for _, s := range a.shards {
		if s.decision.Hold {
			for _, ref := range s.spec.Lists {
				want[ref.Name] = true
			}
		}
	}
	a.lists.Want(want)
	for _, s := range a.shards {
		if s.decision.Hold && s.take(a.progress(s.spec.Lists)) {
			changed = true
		}
	}
	return changed
}

func (a *Agent) progress(refs []v1alpha1.ChannelListReference) progress {
	p := progress{lists: lists{}, broken: map[string]string{}}
	for _, ref := range refs {
		l, ok, err := a.lists.Get(ref.Name)
		switch {
		case ok:
			p.lists[ref.Name] = l
		case err != nil:
			p.broken[ref.Name] = reason(err)
		default:
			p.wait = true
		}
	}
	return p
}

// assignment returns what the engine is to do, and the shards that are new to it.
func (a *Agent) assignment() (next engine.Assignment, fresh []*shard) {
	next = engine.Assignment{}
	held := map[int]*shard{}
	for i, s := range a.shards {
		if s.decision.Hold && s.settled {
			held[i] = s
		} else {
			s.applied = false
		}
	}
	staying := stayers(held)
	for i, s := range held {
		channels := s.ownChannels()
		if more := staying[i]; len(more) > 0 {
			channels = slices.Concat(channels, more)
		}
		next[i], s.channels = engine.Shard{Channels: channels, Seal: s.decision.Seal}, len(channels)
		if !s.applied {
			s.applied = true
			fresh = append(fresh, s)
		}
	}
	return next, fresh
}

// advance brings the phases up to date, given the shards that the engine has not
// closed and those that it seals, and forgets shards that are over. It reports
// whether some are on their way.
func (a *Agent) advance(now time.Time, open []int, sealing map[int]bool) (busy bool) {
	for i, s := range a.shards {
		s.sealing = s.decision.Hold && sealing[i]
		if s.applied && !s.joined && s.complete() {
			st := a.cfg.Engine.ShardStatus(i)
			s.joined = s.join.Done(now, settledChannels(&st), s.channels) && st.Claimed
		}
		p := handover.Say(s.decision, s.joined, slices.Contains(open, i))
		if p != s.phase {
			a.log.Info("shard entered a phase", "shard", i, "phase", string(p), "channels", s.channels)
		}
		s.enter(p, now)
		busy = busy || p == v1alpha1.Joining || p == v1alpha1.Draining
		if s.isOver(a.cfg.Name, slices.Contains(open, i)) {
			delete(a.shards, i)
		}
	}
	a.metrics.observe(a.shards)
	return busy
}

// settledChannels counts the channels of a shard that can do no better.
func settledChannels(st *engine.ShardStatus) int {
	return st.States[capture.Connected] + st.States[capture.Unsupported] + st.States[capture.Paused]
}

// publish asks for the statuses to be written that are not as they should be.
func (a *Agent) publish(now time.Time) {
	for i, s := range a.shards {
		if s.object == nil || s.presence == handover.Missing {
			continue
		}
		if ans := s.answer(a.cfg.Name); !ans.isIn(s.status()) && !s.isWritten(&ans) {
			a.writes.add(i)
		}
		if len(s.pendingDeletions(a.cfg.Name, now)) > 0 {
			a.deletes.add(i)
		}
	}
}
