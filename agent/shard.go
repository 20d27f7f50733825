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

// shard is all that the agent knows of one shard.
type shard struct {
	index int
	name  string // of the ArchiveShard

	// object is the ArchiveShard as seen last; nil: only the state on disk told.
	object   *v1alpha1.ArchiveShard
	spec     v1alpha1.ArchiveShardSpec
	presence handover.Presence
	lookedUp time.Time // while it is not watched: when it was asked for by name
	gone     bool      // the API server said that there is none of that name

	decision handover.Decision
	captured lists             // what the engine is told to capture
	leaving  lists             // those of them whose channels belong to other shards now
	wanted   lists             // lists of the spec that are read
	broken   map[string]string // why others can not be
	// settled: the lists were tried, so the engine may get the shard. An engine
	// that gets channels later than the shard could not mark the death of the
	// writer before for them.
	settled bool
	applied bool // the engine has the shard
	// channels is how many of the shard the engine has.
	channels int

	join   handover.Joining
	joined bool
	phase  v1alpha1.ShardPhase
	// sealing: the engine seals the shard, by order or because it had to.
	sealing bool
	// waiting is since when samples of the shard wait in the engine, which the store did
	// not take; zero: none do.
	waiting time.Time
	since   time.Time

	// ended is since when no other engine says to capture a list that is not in the
	// spec; zero: one does.
	ended         time.Time
	deleted       map[string]bool // lists of spec.deletions that are done
	deletionStuck bool

	// written is the latest answer written, upon the object of version base.
	written answer
	base    string
}

// see takes the ArchiveShard as the API server tells it.
func (s *shard) see(obj *v1alpha1.ArchiveShard, p handover.Presence) {
	s.object, s.spec, s.presence, s.gone = obj, obj.Spec, p, false
}

func (s *shard) status() *v1alpha1.ArchiveShardStatus {
	if s.object == nil {
		return nil
	}
	return s.object.Status
}

// decide decides anew, and reports whether that changes what the engine does.
func (s *shard) decide(engine string) (changed bool) {
	was := s.decision
	s.decision = handover.Decide(handover.Known{Engine: engine, Presence: s.presence, Spec: &s.spec, Status: s.status(), Before: was})
	if was.Hold && !s.decision.Hold {
		s.captured, s.leaving, s.settled, s.joined = nil, nil, false, false
	}
	return was.Hold != s.decision.Hold || was.Seal != s.decision.Seal
}

// take takes the lists that are read, and reports whether that changes what is
// captured.
func (s *shard) take(p progress) (changed bool) {
	s.wanted, s.broken = p.lists, p.broken
	if p.wait {
		return false
	}
	next := p.next(s.captured)
	if !s.settled && len(next) == 0 && len(p.broken) > 0 {
		return false // nothing to begin with
	}
	_, leaving := split(next, s.spec.Lists)
	changed = !s.settled || !maps.Equal(next, s.captured) || !maps.Equal(leaving, s.leaving)
	s.captured, s.leaving, s.settled = next, leaving, true
	return changed
}

// complete reports whether exactly the lists of the spec are captured.
func (s *shard) complete() bool {
	return s.settled && len(s.broken) == 0 && maps.Equal(s.wanted, s.captured)
}

// unnoticed is how long samples may have waited when that is noticed first.
const unnoticed = 30 * time.Second

// wait notes whether samples wait, for how long at least. What was said first stays: some
// of them may be the oldest.
func (s *shard) wait(waits bool, age time.Duration, now time.Time) {
	since := now.Add(-age - unnoticed).Truncate(time.Second)
	switch {
	case !waits:
		s.waiting = time.Time{}
	case s.waiting.IsZero() || age > 0 && since.Before(s.waiting.Add(-unnoticed)):
		s.waiting = since
	}
}

// enter sets the phase.
func (s *shard) enter(p v1alpha1.ShardPhase, now time.Time) {
	if s.phase != p {
		s.phase, s.since = p, now
	}
}

// isOver reports whether nothing of the shard is left to be done or said.
func (s *shard) isOver(engine string, open bool) bool {
	if s.decision.Hold || open {
		return false
	}
	return s.gone || s.phase == "" && handover.Entry(s.status(), engine) == nil
}

// isWritten reports whether an answer was written upon the object as it was seen
// last, so that it is on its way back.
func (s *shard) isWritten(a *answer) bool {
	return s.base == s.object.ResourceVersion && s.written.seals == a.seals && sameEntry(&s.written.entry, &a.entry)
}

// isTold reports whether the status says that the shard is given up.
func (s *shard) isTold(engine string) bool {
	if s.object == nil || s.gone {
		return true
	}
	a := s.answer(engine)
	return s.phase != v1alpha1.Draining && (a.isIn(s.status()) || s.isWritten(&a))
}

// flushTime is what other engines get to make durable what they captured last.
const flushTime = 2 * time.Second

// watchOthers notes whether other engines have ended what the spec has not any more.
func (s *shard) watchOthers(engine string, now time.Time) {
	switch alone, ended := s.others(engine); {
	case alone: // there is nobody to wait for
		s.ended = now.Add(-flushTime)
	case !ended:
		s.ended = time.Time{}
	case s.ended.IsZero():
		s.ended = now
	}
}

// others reports whether no other engine has to do with the shard, by its status, and
// whether none says to capture a list that is not in the spec.
func (s *shard) others(engine string) (alone, ended bool) {
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

// pendingDeletions returns the lists of PVs whose data is to be deleted now: once other
// engines that captured these PVs have made durable what they have.
func (s *shard) pendingDeletions(engine string, now time.Time) (names []string) {
	s.watchOthers(engine, now)
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

// answer returns what to say in the status.
func (s *shard) answer(engine string) answer {
	a := answer{entry: v1alpha1.ShardEngineStatus{Name: engine, Phase: s.phase}, since: metav1.NewTime(s.since.Truncate(time.Second))}
	if s.phase == "" {
		return a
	}
	a.seals = s.sealing
	a.entry.Message = clip(s.message(), maxMessage)
	if !s.waiting.IsZero() {
		a.entry.WaitingSince = ptr.To(metav1.NewTime(s.waiting))
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
	return a
}

// message says what is wrong.
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
			parts = append(parts, "capture goes on with the lists before")
		}
	}
	if s.deletionStuck {
		parts = append(parts, "data to be deleted is still there: the log of the engine says why")
	}
	return strings.Join(parts, "; ")
}
