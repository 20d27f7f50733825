package agent

import (
	"context"
	"errors"
	"os"
	"time"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
)

// restore reads the readable part of the assignment from the state on disk, and applies it to
// the engine.
func (a *Agent) restore() {
	st, err := a.state.load()
	if err != nil {
		if !errors.Is(err, errNoState) {
			a.log.Warn("the state on disk cannot be used; capture starts when the API server answers", "err", err)
		}
		return
	}
	for _, saved := range st.Shards {
		if s := a.restoreShard(&saved); s != nil {
			a.shards[s.index] = s
		}
	}
	next, fresh := a.assignmentLocked() // New calls restore: nothing else uses the agent yet
	if len(next) == 0 {
		return
	}
	a.cfg.Engine.Apply(next)
	a.assigned = true
	for _, s := range fresh {
		s.join = handover.Joining{Since: time.Now()}
	}
	a.log.Info("capture continues with the assignment of the state on disk", "shards", len(next))
}

// restoreShard returns a shard of the state, as if its ArchiveShard had been read.
func (a *Agent) restoreShard(saved *savedShard) *shard {
	index, ok := a.indexOf(&v1alpha1.ArchiveShard{Spec: saved.Spec})
	if !ok || saved.Name == "" {
		return nil
	}
	s := &shard{
		index: index, name: saved.Name, spec: saved.Spec, presence: handover.Present, deleted: map[string]bool{},
		decision: handover.Decision{Hold: !saved.Released, Seal: saved.Seal, Released: saved.Released},
		captured: lists{},
	}
	for _, name := range saved.Captured {
		l, err := a.restoreList(name)
		if err != nil {
			a.log.Warn("a channel list on disk cannot be used", "list", name, "err", err)
			continue
		}
		s.captured[name] = l
		a.lists.Put(name, l)
	}
	_, s.leaving = splitLeaving(s.captured, s.spec.Lists)
	if s.decision.Hold {
		s.updateFormer(a.restoreFormer)
	}
	// Lists that are not on disk come from the API server, as at a first start.
	s.listsTried = s.decision.Hold && (len(s.captured) > 0 || len(saved.Captured) == 0)
	return s
}

// restoreFormer returns a former list of a shard, or nil if the list is not on disk: an earlier version did not save former
// lists, or the agent had not read the list yet. The engine then counts the PVs that left the shard as unknown.
func (a *Agent) restoreFormer(name string) *list {
	l, err := a.restoreList(name)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			a.log.Warn("a channel list on disk cannot be used", "list", name, "err", err)
		}
		return nil
	}
	a.lists.Put(name, l)
	return l
}

func (a *Agent) restoreList(name string) (*list, error) {
	if l, ok, _ := a.lists.Get(name); ok {
		return l, nil
	}
	data, err := a.state.list(name)
	if err != nil {
		return nil, err
	}
	return decodeList(data)
}

// keepState writes the assignment to disk after each change, until ctx ends. Nothing waits
// for it, because only a restarted container reads it.
func (a *Agent) keepState(ctx context.Context) {
	for {
		select {
		case <-a.unsaved:
			a.saveState()
		case <-ctx.Done():
			select {
			case <-a.unsaved:
				a.saveState()
			default:
			}
			return
		}
	}
}

// markUnsaved requests that the state be written. It never blocks.
func (a *Agent) markUnsaved() {
	select {
	case a.unsaved <- struct{}{}:
	default:
	}
}

// saveState writes the assignment to disk.
func (a *Agent) saveState() {
	if a.state == nil {
		return
	}
	st, data := a.snapshot()
	if err := a.state.save(&st, data); err != nil {
		a.metrics.stateFailures.Inc()
		a.log.Error("writing the state to disk failed; a restarted container has to wait for the API server", "err", err)
	}
}

// snapshot returns the assignment and its lists.
func (a *Agent) snapshot() (st savedState, data map[string][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	st = savedState{Engine: a.cfg.Name, Archiver: a.cfg.Archiver}
	data = map[string][]byte{}
	for _, s := range a.shards {
		if s.decision.Hold && !s.listsTried || !s.decision.Hold && !s.decision.Released {
			continue
		}
		st.Shards = append(st.Shards, savedShard{
			Name: s.name, Spec: s.spec, Captured: s.captured.names(), Seal: s.decision.Seal, Released: s.decision.Released,
		})
		for name, l := range s.captured {
			data[name] = l.data
		}
		for name, f := range s.former {
			if f.list != nil {
				data[name] = f.list.data
			}
		}
	}
	return st, data
}
