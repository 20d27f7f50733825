package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
)

// shard is the agent's knowledge of one shard.
type shard struct {
	index int
	name  string // name of the ArchiveShard

	// object is the last known ArchiveShard, or nil if the shard is known only from disk.
	object   *v1alpha1.ArchiveShard
	spec     v1alpha1.ArchiveShardSpec
	presence handover.Presence
	lookedUp time.Time // while it is not watched: when it was last fetched by name
	gone     bool      // the API server answered that no such object exists

	decision handover.Decision
	captured lists                 // lists assigned to the engine
	leaving  lists                 // captured lists whose channels now belong to other shards
	former   map[string]formerList // lists that the shard captured until recently, by name
	wanted   lists                 // lists of the spec that have been read
	broken   map[string]string     // why the other lists of the spec cannot be read
	// listsTried means that reading each list was tried, so the engine may receive the shard.
	// If channels reached the engine after their shard, the engine could not mark the death of
	// the previous writer in these channels.
	listsTried bool
	applied    bool // the engine has the shard
	// adopted is the generation of the ArchiveShard whose lists are captured, or 0 if some of
	// them cannot be read. removes means that channels which the latest lists no longer have are
	// in no group any more: see updateLists.
	adopted int64
	removes bool
	// channels is how many channels of the shard the engine has.
	channels int

	join   handover.Joining
	joined bool
	// connected is how many channels were connected when joining was done.
	connected int
	phase     v1alpha1.ShardPhase
	// sealing means that the engine seals the shard, either by order or because it became the
	// leader on its own.
	sealing bool
	// waiting is the time since which the engine holds samples of the shard that the store has
	// not accepted. It is zero if there are none.
	waiting time.Time
	since   time.Time // when the phase began

	// ended is the time since which no other engine reports a list that is no longer in the
	// spec. It is zero while an engine reports such a list.
	ended         time.Time
	deleted       map[string]bool // lists of spec.deletions whose data is deleted
	deletionStuck bool

	// erasing is how far the deletions of samples in spec.erasures are, by name.
	erasing map[string]*erasing

	// written is the last written update, and base the version of the object it was applied to.
	written statusUpdate
	base    string
}

// update replaces the ArchiveShard by the one from the API server.
func (s *shard) update(obj *v1alpha1.ArchiveShard, p handover.Presence) {
	s.object, s.spec, s.presence, s.gone = obj, obj.Spec, p, false
}

func (s *shard) status() *v1alpha1.ArchiveShardStatus {
	if s.object == nil {
		return nil
	}
	return s.object.Status
}

// decide updates the decision, and reports whether the engine's assignment changes.
func (s *shard) decide(engine string) (changed bool) {
	was := s.decision
	s.decision = handover.Decide(handover.Input{Engine: engine, Presence: s.presence, Spec: &s.spec, Status: s.status(), Before: was})
	if was.Hold && !s.decision.Hold {
		s.captured, s.leaving, s.former, s.listsTried, s.joined, s.adopted = nil, nil, nil, false, false, 0
	}
	return was.Hold != s.decision.Hold || was.Seal != s.decision.Seal
}

// updateLists adopts the lists that have been read, and reports whether that changes the
// engine's assignment.
//
// A channel may vanish from the lists because it is in no group any more, or because it belongs to
// another shard now. In the second case the operator first marks its list as leaving, in a
// generation of its own. So the channel is in no group any more if this agent has seen every
// generation, and none of the lists before was leaving. An agent that was away from the API server
// may have missed a generation. It then marks nothing.
func (s *shard) updateLists(p progress) (changed bool) {
	s.wanted, s.broken, s.removes = p.lists, p.broken, false
	if p.wait {
		return false
	}
	next := p.next(s.captured)
	if !s.listsTried && len(next) == 0 && len(p.broken) > 0 {
		return false // no list has been read yet
	}
	_, leaving := splitLeaving(next, s.spec.Lists)
	changed = !s.listsTried || !maps.Equal(next, s.captured) || !maps.Equal(leaving, s.leaving)
	generation := s.readGeneration()
	s.removes = changed && s.adopted > 0 && generation == s.adopted+1 && len(s.leaving)+len(leaving) == 0
	s.captured, s.leaving, s.listsTried, s.adopted = next, leaving, true, generation
	return changed
}

// readGeneration returns the generation of the ArchiveShard if all its lists have been read, and
// otherwise 0.
func (s *shard) readGeneration() int64 {
	if s.object == nil || len(s.broken) > 0 {
		return 0
	}
	return s.object.Generation
}

// complete reports whether the engine captures exactly the lists of the spec.
func (s *shard) complete() bool {
	return s.listsTried && len(s.broken) == 0 && maps.Equal(s.wanted, s.captured)
}

// unnoticed is how long the engine may have held unstored samples before the agent notices.
const unnoticed = 30 * time.Second

// updateWaiting records whether the engine holds unstored samples, and their minimum age.
// The first recorded time stays, because some of the samples may be that old.
func (s *shard) updateWaiting(waits bool, age time.Duration, now time.Time) {
	since := now.Add(-age - unnoticed).Truncate(time.Second)
	switch {
	case !waits:
		s.waiting = time.Time{}
	case s.waiting.IsZero() || age > 0 && since.Before(s.waiting.Add(-unnoticed)):
		s.waiting = since
	}
}

// setPhase sets the phase, and the time when it began.
func (s *shard) setPhase(p v1alpha1.ShardPhase, now time.Time) {
	if s.phase != p {
		s.phase, s.since = p, now
	}
}

// isOver reports whether the agent can forget the shard, because nothing is left to do or
// report.
func (s *shard) isOver(engine string, open bool) bool {
	if s.decision.Hold || open {
		return false
	}
	return s.gone || s.phase == "" && handover.Entry(s.status(), engine) == nil
}

// isWritten reports whether the update was written to the last known version of the
// object, so that the watch will deliver it soon.
func (s *shard) isWritten(u *statusUpdate) bool {
	return s.base == s.object.ResourceVersion && s.written.seals == u.seals && sameEntry(&s.written.entry, &u.entry)
}

// isReleaseWritten reports whether the status shows that the engine released the shard.
func (s *shard) isReleaseWritten(engine string) bool {
	if s.object == nil || s.gone {
		return true
	}
	u := s.statusUpdate(engine)
	return s.phase != v1alpha1.Draining && (u.isAppliedTo(s.status()) || s.isWritten(&u))
}

// flushTime is how long other engines get to store their last samples.
const flushTime = 2 * time.Second

// updateEnded records the time since which no other engine captures lists that the spec no
// longer has.
func (s *shard) updateEnded(engine string, now time.Time) {
	switch alone, ended := s.otherEngines(engine); {
	case alone: // no engine to wait for
		s.ended = now.Add(-flushTime)
	case !ended:
		s.ended = time.Time{}
	case s.ended.IsZero():
		s.ended = now
	}
}

// otherEngines evaluates the status. alone means that no other engine has the shard; ended
// means that no other engine reports a list that is not in the spec.
func (s *shard) otherEngines(engine string) (alone, ended bool) {
	alone, ended = true, true
	if s.status() == nil {
		return alone, ended
	}
	for _, e := range s.status().Engines {
		if e.Name == engine || e.Phase == v1alpha1.Drained {
			continue
		}
		alone = false
		for _, name := range e.Lists {
			ended = ended && slices.ContainsFunc(s.spec.Lists, func(ref v1alpha1.ChannelListReference) bool { return ref.Name == name })
		}
	}
	return alone, ended
}

// pendingDeletions returns the lists of PVs whose data can be deleted now. All other engines
// that captured these PVs must have stored their last samples first.
func (s *shard) pendingDeletions(engine string, now time.Time) (names []string) {
	s.updateEnded(engine, now)
	if !s.decision.Hold || !s.sealing || !s.applied || !s.complete() || s.ended.IsZero() || now.Sub(s.ended) < flushTime {
		return nil
	}
	for _, ref := range s.spec.Deletions {
		if !s.isDeleted(engine, ref.Name) {
			names = append(names, ref.Name)
		}
	}
	return names
}

func (s *shard) isDeleted(engine, name string) bool {
	e := handover.Entry(s.status(), engine)
	return s.deleted[name] || e != nil && slices.Contains(e.Deleted, name)
}

// statusUpdate returns the update to write into the status.
func (s *shard) statusUpdate(engine string) statusUpdate {
	a := statusUpdate{entry: v1alpha1.ShardEngineStatus{Name: engine, Phase: s.phase}, since: metav1.NewTime(s.since.Truncate(time.Second))}
	if s.phase == "" {
		return a
	}
	a.seals = s.sealing
	a.entry.Message = clip(s.message(), maxMessage)
	if !s.waiting.IsZero() {
		a.entry.WaitingSince = ptr.To(metav1.NewTime(s.waiting))
	}
	if s.phase == v1alpha1.Capturing {
		a.entry.Connected = ptr.To(int32(s.connected))
	}
	if s.decision.Hold {
		a.entry.Lists = s.captured.names()
		a.entry.Lists = a.entry.Lists[:min(len(a.entry.Lists), maxLists)]
	}
	for _, ref := range s.spec.Deletions {
		if s.isDeleted(engine, ref.Name) {
			a.entry.Deleted = append(a.entry.Deleted, ref.Name)
		}
	}
	slices.Sort(a.entry.Deleted)
	a.entry.Erasures = s.erasureStatuses(engine)
	return a
}

// message describes the problem of the shard, or returns "" if there is none.
func (s *shard) message() string {
	var parts []string
	if s.decision.Message != "" {
		parts = append(parts, s.decision.Message)
	}
	if s.decision.Hold {
		for _, name := range slices.Sorted(maps.Keys(s.broken)) {
			parts = append(parts, fmt.Sprintf("channel list %s: %s", name, s.broken[name]))
		}
		if len(s.broken) > 0 {
			parts = append(parts, "capture continues with the previous lists")
		}
	}
	if s.deletionStuck {
		parts = append(parts, "data could not be deleted yet: see the log of the engine")
	}
	return strings.Join(parts, "; ")
}
