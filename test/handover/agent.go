package handover

import (
	"time"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
)

// object is a version of an ArchiveShard. Its spec and status are never modified.
type object struct {
	version int
	spec    *v1alpha1.ArchiveShardSpec
	status  *v1alpha1.ArchiveShardStatus
}

// task is the state of one shard in the agent of an engine.
type task struct {
	object     object
	presence   handover.Presence
	decision   handover.Decision
	join       handover.Joining
	joined     bool
	connected  int32 // number of connected channels when joining was done
	phase      v1alpha1.ShardPhase
	reportedAt time.Duration // when the status was last sent
}

// saved is the agent's state of a shard on disk.
type saved struct {
	object   object
	decision handover.Decision
}

// epoch is the wall-clock time at which simulations begin. Production code needs one.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// restore restores the tasks from the state on disk.
func (e *engine) restore() {
	for shard, s := range e.pod.saved {
		if s == nil {
			continue
		}
		d := handover.Decision{Hold: !s.decision.Released, Seal: s.decision.Seal, Released: s.decision.Released}
		e.tasks[shard] = &task{object: object{spec: s.object.spec}, presence: handover.Present, decision: d}
		if d.Hold {
			e.begin(shard)
		}
	}
}

// step processes each shard once.
func (e *engine) step() {
	if e.ending {
		return
	}
	for shard := range e.tasks {
		e.observe(shard)
		if t := e.tasks[shard]; t != nil {
			e.decide(shard, t)
			e.advance(shard, t)
		}
	}
	if e.draining && e.isEmpty() {
		e.stop()
		return
	}
	e.after(e.w.between(300*time.Millisecond, time.Second), e.step)
}

// observe updates the task's object from the watch, which may be late.
func (e *engine) observe(shard int) {
	o := e.w.api.objects[shard]
	if e.isCut(cutAPI) || e.w.now < e.w.api.awayUntil || o.spec == nil || e.w.chance(e.w.lag) {
		return
	}
	t := e.tasks[shard]
	if t == nil {
		if _, named := handover.Order(o.spec, e.pod.name); !named && handover.Entry(o.status, e.pod.name) == nil {
			return
		}
		t = &task{}
		e.tasks[shard] = t
	}
	t.object, t.presence = o, handover.Present
	if e.w.now < e.w.api.emptyUntil {
		t.presence = handover.Missing
	}
}

// decide makes the hand-over decision for a shard and carries it out.
func (e *engine) decide(shard int, t *task) {
	was := t.decision
	t.decision = handover.Decide(handover.Input{
		Engine: e.pod.name, Presence: t.presence, Spec: t.object.spec, Status: t.object.status, Before: was,
	})
	if e.w.cfg.Fault == EarlyClose && t.decision.Drain {
		t.decision.Hold, t.decision.Released, t.decision.Seal = false, true, false
	}
	now := t.decision
	switch {
	case now.Hold && !was.Hold:
		e.begin(shard)
	case !now.Hold && was.Hold:
		e.release(shard)
		t.joined = false
	case now.Hold && now.Seal != was.Seal:
		e.held[shard].sealer.order(now.Seal)
	}
	if now.Hold != was.Hold || now.Seal != was.Seal || now.Released != was.Released {
		e.w.tracef(shard, "%v decides: hold %v, seal %v, drain %v, orphaned %v", e, now.Hold, now.Seal, now.Drain, now.Orphaned)
		e.after(e.w.between(0, time.Second), func() { e.save(shard) })
	}
}

func (e *engine) begin(shard int) {
	t := e.tasks[shard]
	t.join, t.joined = handover.Joining{Since: epoch.Add(e.clock())}, false
	e.startCapture(shard).sealer.order(t.decision.Seal)
}

// save writes the state of a shard to disk. Only a restarted container reads it.
func (e *engine) save(shard int) {
	if t := e.tasks[shard]; t != nil && (t.decision.Hold || t.decision.Released) {
		e.pod.saved[shard] = &saved{t.object, t.decision}
		return
	}
	e.pod.saved[shard] = nil
}

// advance updates the phase of a shard and writes it to the status.
func (e *engine) advance(shard int, t *task) {
	if l := e.held[shard]; l != nil && !t.joined {
		connected := l.sight().Connected
		t.joined = t.join.Done(epoch.Add(e.clock()), connected, channels) && l.claimed
		t.connected = int32(connected)
	}
	open := e.open(shard)
	t.phase = handover.Phase(t.decision, t.joined, open)
	entry := handover.Entry(t.object.status, e.pod.name)
	reported := v1alpha1.ShardPhase("")
	if entry != nil {
		reported = entry.Phase
	}
	switch {
	case reported != t.phase && t.object.version > 0 && e.clock()-t.reportedAt > time.Second:
		t.reportedAt = e.clock()
		e.writeStatus(shard, t.object.version, t.phase, t.connected)
	case reported == "" && t.phase == "" && !t.decision.Hold && !open:
		if _, named := handover.Order(t.object.spec, e.pod.name); !named {
			e.tasks[shard] = nil
		}
	}
}

// writeStatus writes the engine's entry of a status. The write fails with a conflict if the
// object no longer has the given version.
func (e *engine) writeStatus(shard, version int, phase v1alpha1.ShardPhase, connected int32) {
	e.callAPI(func() {
		o := &e.w.api.objects[shard]
		if o.version != version {
			return // a conflict
		}
		var entries []v1alpha1.ShardEngineStatus
		for _, have := range o.status.Engines {
			if have.Name != e.pod.name {
				entries = append(entries, have)
			}
		}
		if phase != "" {
			entry := v1alpha1.ShardEngineStatus{Name: e.pod.name, Phase: phase}
			if phase == v1alpha1.Capturing {
				entry.Connected = &connected
			}
			entries = append(entries, entry)
		}
		o.status = &v1alpha1.ArchiveShardStatus{Engines: entries}
		o.version++
		e.w.tracef(shard, "%v has phase %q in its status", e, phase)
	})
}

// isEmpty reports whether the engine has released all shards and has reported the release.
func (e *engine) isEmpty() bool {
	for shard, t := range e.tasks {
		if e.open(shard) {
			return false
		}
		if t == nil || t.object.status == nil {
			continue
		}
		if entry := handover.Entry(t.object.status, e.pod.name); t.decision.Hold || entry != nil && entry.Phase != t.phase {
			return false
		}
	}
	return true
}

// drain requests that the operator move the engine's shards. step stops the engine when all
// shards are moved. drain stops it when no object of a held shard has changed for 30 s.
func (e *engine) drain() {
	e.draining = true
	versions, since := e.versions(), e.clock()
	var wait func()
	wait = func() {
		now := e.versions()
		if now != versions {
			versions, since = now, e.clock()
		}
		if now > 0 && e.clock()-since >= 30*time.Second {
			e.stop()
			return
		}
		e.after(time.Second, wait)
	}
	wait()
}

// versions returns the sum of the object versions of all held shards. The sum changes with
// each object, and is 0 if the engine holds no shard.
func (e *engine) versions() (sum int) {
	for _, t := range e.tasks {
		if t != nil && t.decision.Hold {
			sum += 1 + t.object.version
		}
	}
	return sum
}
