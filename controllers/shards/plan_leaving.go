package shards

import (
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/groups/channellist"
	"varve.dev/varve/groups/compile"
)

// A PV whose shard changes from S to T stays in S, in a list that is marked as leaving,
// until all engines of T have captured the new lists for handoverWait. No engine stops
// capturing the PV before another engine captures it:
//
//	S: A B      ─▶ S: B, leaving A                       ─▶ S: B
//	T: C        ─▶ T: A C      T's engines capture it ──▶   T: A C
//	               └─ one compilation ─┘       └─ handoverWait ─┘
//
// The compilation finds leaving PVs by comparing the lists of existing shards with the new
// assignment. Only the time since which T is ready is kept in memory. This has the following
// consequences:
//   - An operator that restarts in between, even after it wrote only S or only T, finds
//     the same leaving PVs, and waits again for the full time.
//   - If an engine of T dies, T is no longer ready. The wait begins again once another
//     engine captures T. S continues to capture the PV.
//   - Meanwhile S may move to another engine, which then captures all lists of S. An
//     engine that has both shards captures the PV for T (see package agent).
//   - If an edit moves the PV back, it is an ordinary PV of S and leaves T. If an edit
//     moves it on to U, it leaves both S and T.
//   - When S gives up a PV, the list stays in S as a former list (plan_former.go).
//   - The capture of a PV ends at once if the PV is paused or no longer in any group.

// handoverWait is how long a shard must have captured its lists before another shard gives up
// their PVs. It equals the time limit of an engine for connecting channels (package
// agent/handover).
const handoverWait = 15 * time.Second

// maxLists is the highest number of lists of a shard that the API accepts.
const maxLists = 64

// encodeLeaving adds lists of leaving channels. A shard has these channels now, and another
// shard will get them. encodeLeaving reads only lists that the shard no longer keeps.
func (c *compilation) encodeLeaving(in *observed, assignment map[int][]capture.Channel) {
	old := map[int][]capture.Channel{}
	for i := range c.shards {
		if channels := in.superseded(i, &c.shards[i]); len(channels) > 0 {
			old[i] = channels
		}
	}
	for i, leaving := range compile.Leaving(old, assignment) {
		s := &c.shards[i]
		lists := channellist.Encode(leaving.Channels)
		// Only a shard of half a million PVs would have more lists than the API accepts.
		for _, l := range lists[:min(len(lists), max(maxLists-len(s.lists), 0))] {
			name := listName(in.archiver.Name, l.Name)
			c.data[name] = l.Data
			s.leaving = append(s.leaving, name)
		}
		s.awaits = leaving.To
	}
}

// superseded returns the channels of the lists that a shard has but no longer keeps. It
// skips lists that cannot be read, because their channels are unknown.
func (in *observed) superseded(index int, s *compiledShard) (channels []capture.Channel) {
	if s.kept {
		return nil
	}
	for _, name := range in.capturedLists(index) {
		list := in.lists[name]
		if slices.Contains(s.lists, name) || list == nil {
			continue
		}
		if of, err := channellist.Decode(list.BinaryData[v1alpha1.ChannelListKey]); err == nil {
			channels = append(channels, of...)
		}
	}
	return channels
}

// releaseLeaving drops the leaving lists of shards whose PVs other shards have captured for
// handoverWait. It returns the time until the next check, or zero if only an event can change
// the result.
func (m *memory) releaseLeaving(in *observed, compiled *compilation, now time.Time) (wait time.Duration) {
	m.readySince = in.readySince(compiled, m.readySince, now)
	for i := range compiled.shards {
		s := &compiled.shards[i]
		if len(s.leaving) == 0 || s.kept {
			continue
		}
		latest := time.Time{}
		waits := slices.ContainsFunc(s.awaits, func(to int32) bool {
			since, has := m.readySince[to]
			if since.After(latest) {
				latest = since
			}
			return !has
		})
		left := handoverWait - now.Sub(latest)
		switch {
		case waits || !in.hasRoom(i, s):
		case left > 0:
			wait = shortest(wait, left)
		default:
			s.leaving, s.awaits = nil, nil
		}
	}
	return wait
}

// readySince returns, for each awaited shard that is ready, the time since which its engines
// capture its lists. before is the result of the previous call. A kept shard does not have its
// new lists yet, so it is never ready.
func (in *observed) readySince(compiled *compilation, before map[int32]time.Time, now time.Time) map[int32]time.Time {
	seen, readySince := make([]bool, len(compiled.shards)), map[int32]time.Time{}
	for i := range compiled.shards {
		for _, to := range compiled.shards[i].awaits {
			if seen[to] {
				continue
			}
			seen[to] = true
			if t := &compiled.shards[to]; t.kept || !in.isReady(int(to), t.lists) {
				continue
			}
			if readySince[to] = now; !before[to].IsZero() {
				readySince[to] = before[to]
			}
		}
	}
	return readySince
}

// isReady reports whether all engines that should capture a shard are alive and capture
// the given lists.
func (in *observed) isReady(index int, lists []string) bool {
	s := in.shards[index]
	if s == nil || s.Status == nil {
		return false
	}
	engines := 0
	for _, e := range s.Spec.Engines {
		if e.Order != v1alpha1.OrderCapture {
			continue
		}
		engines++
		at := slices.IndexFunc(s.Status.Engines, func(answer v1alpha1.ShardEngineStatus) bool { return answer.Name == e.Name })
		if at < 0 || !in.isAlive(e.Name) || s.Status.Engines[at].Phase != v1alpha1.Capturing ||
			slices.ContainsFunc(lists, func(name string) bool { return !slices.Contains(s.Status.Engines[at].Lists, name) }) {
			return false
		}
	}
	return engines > 0
}

// references returns the lists of a shard as its spec names them.
func (s *compiledShard) references() (out []v1alpha1.ChannelListReference) {
	out = references(s.lists)
	for _, name := range s.leaving {
		out = append(out, v1alpha1.ChannelListReference{Name: name, Leaving: true})
	}
	return out
}

// captured returns the names of all lists that the shard captures.
func (s *compiledShard) captured() []string { return slices.Concat(s.lists, s.leaving) }

// busy reports whether the shard has anything to capture.
func (s *compiledShard) busy() bool { return len(s.lists)+len(s.leaving) > 0 }
