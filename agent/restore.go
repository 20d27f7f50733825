package agent

import (
	"context"
	"errors"
	"time"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
)

// restore takes up the assignment that the state on disk has, as far as it can be
// read, and gives it to the engine.
func (a *Agent) restore() {
	st, err := a.state.load()
	if err != nil {
		if !errors.Is(err, errNoState) {
			a.log.Warn("starting without the state on disk", "err", err)
		}
		return
	}
	for _, saved := range st.Shards {
		if s := a.restored(&saved); s != nil {
			a.shards[s.index] = s
		}
	}
	next, fresh := a.assignment()
	if len(next) == 0 {
		return
	}
	a.cfg.Engine.Apply(next)
	a.assigned = true
	for _, s := range fresh {
		s.join = handover.Joining{Since: time.Now()}
	}
	a.log.Info("capture goes on as the state on disk says", "shards", len(next))
}

// restored returns a shard of the state, as if its ArchiveShard were seen.
func (a *Agent) restored(saved *savedShard) *shard {
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
		l, err := a.restoredList(name)
		if err != nil {
			a.log.Warn("a channel list on disk can not be used", "list", name, "err", err)
			continue
		}
		s.captured[name] = l
		a.lists.Put(name, l)
	}
	_, s.leaving = split(s.captured, s.spec.Lists)
	// What is not on disk comes from the API server, as at a first start.
	s.settled = s.decision.Hold && (len(s.captured) > 0 || len(saved.Captured) == 0)
	return s
}

func (a *Agent) restoredList(name string) (*list, error) {
	if l, ok, _ := a.lists.Get(name); ok {
		return l, nil
	}
	data, err := a.state.list(name)
	if err != nil {
		return nil, err
	}
	return decodeList(data)
}

// keepState writes the assignment to disk after each change, until ctx ends.
// Nothing waits for it: only a restart of the container reads it.
func (a *Agent) keepState(ctx context.Context) {
	for {
		select {
		case <-a.unsaved:
			a.save()
		case <-ctx.Done():
			select {
			case <-a.unsaved:
				a.save()
			default:
			}
			return
		}
	}
}

// markUnsaved asks for the state to be written. It never blocks.
func (a *Agent) markUnsaved() {
	select {
	case a.unsaved <- struct{}{}:
	default:
	}
}

// save writes the assignment to disk.
func (a *Agent) save() {
	if a.state == nil {
		return
	}
	st, data := a.snapshot()
	if err := a.state.save(&st, data); err != nil {
		a.metrics.stateFailures.Inc()
		a.log.Error("the state can not be written to disk: a restart of the container has to wait for the API server", "err", err)
	}
}

// snapshot returns the assignment and its lists.
func (a *Agent) snapshot() (st savedState, data map[string][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	st = savedState{Engine: a.cfg.Name, Archiver: a.cfg.Archiver}
	data = map[string][]byte{}
	for _, s := range a.shards {
		if s.decision.Hold && !s.settled || !s.decision.Hold && !s.decision.Released {
			continue
		}
		st.Shards = append(st.Shards, savedShard{
			Name: s.name, Spec: s.spec, Captured: s.captured.names(), Seal: s.decision.Seal, Released: s.decision.Released,
		})
		for name, l := range s.captured {
			data[name] = l.data
		}
	}
	return st, data
}
