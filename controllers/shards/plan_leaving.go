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
// until all engines of T have had the new lists for takenFor. Nobody who captures it
// stops before another does:
//
//	S: A B      ─▶ S: B, leaving A                       ─▶ S: B
//	T: C        ─▶ T: A C      T's engines capture it ──▶   T: A C
//	               └─ one compilation ─┘       └─ takenFor ─┘
//
// What is leaving is found from what the shards say when they are compiled, and since
// when T is ready is remembered in memory only. So:
//   - An operator that is started again in between, also if it wrote only S or only T
//     before, finds the same PVs leaving, and waits anew.
//   - An engine of T that dies makes T unready, and the wait begins anew once another one
//     captures it. S goes on.
//   - S may move to another engine meanwhile: that captures all lists of S. An engine that
//     has both shards captures the PV for T (agent).
//   - An edit that puts the PV back makes it an ordinary one of S again, and leaving in T.
//     One that sends it on to U makes it leaving in S and in T.
//   - A PV that no group has any more, or that is paused, ends at once.

// takenFor is how long a shard must have captured its lists before others rely on
// it: what an engine gives channels to connect (agent/handover).
const takenFor = 15 * time.Second

// maxLists is how many lists a shard may have, as the API has it.
const maxLists = 64

// encodeLeaving makes lists of the channels that shards have and that others are to
// have. Only lists that shards are to have no more are looked at.
func (c *compiled) encodeLeaving(in *observed, assignment map[int][]capture.Channel) {
	old := map[int][]capture.Channel{}
	for i := range c.shards {
		if channels := in.superseded(i, &c.shards[i]); len(channels) > 0 {
			old[i] = channels
		}
	}
	for i, left := range compile.Leaving(old, assignment) {
		s := &c.shards[i]
		lists := channellist.Encode(left.Channels)
		// It would take a shard of half a million PVs to have more.
		for _, l := range lists[:min(len(lists), max(maxLists-len(s.lists), 0))] {
			name := listName(in.archiver.Name, l.Name)
			c.data[name] = l.Data
			s.leaving = append(s.leaving, name)
		}
		s.awaits = left.To
	}
}

// superseded returns the channels of lists that a shard has, and is not to have any
// more. A list that can not be read is left out: nobody knows what it had.
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

// release ends what shards go on with that others have taken, and returns in how long
// the next one may be over.
func (a *archive) release(in *observed, made *compiled, now time.Time) (wait time.Duration) {
	a.taken = in.taken(made, a.taken, now)
	for i := range made.shards {
		s := &made.shards[i]
		if len(s.leaving) == 0 || s.kept {
			continue
		}
		latest := time.Time{}
		waits := slices.ContainsFunc(s.awaits, func(to int32) bool {
			since, has := a.taken[to]
			if since.After(latest) {
				latest = since
			}
			return !has
		})
		left := takenFor - now.Sub(latest)
		switch {
		case waits:
		case left > 0:
			wait = earliest(wait, left)
		default:
			s.leaving, s.awaits = nil, nil
		}
	}
	return wait
}

// taken returns since when shards capture their lists, of those that others wait for,
// given what it was before. Shards that are kept as they were have not got their lists.
func (in *observed) taken(made *compiled, before map[int32]time.Time, now time.Time) map[int32]time.Time {
	seen, taken := make([]bool, len(made.shards)), map[int32]time.Time{}
	for i := range made.shards {
		for _, to := range made.shards[i].awaits {
			if seen[to] {
				continue
			}
			seen[to] = true
			if t := &made.shards[to]; t.kept || !in.hasTaken(int(to), t.lists) {
				continue
			}
			if taken[to] = now; !before[to].IsZero() {
				taken[to] = before[to]
			}
		}
	}
	return taken
}

// hasTaken says whether all engines that are to capture a shard live and capture some
// lists.
func (in *observed) hasTaken(index int, lists []string) bool {
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
		if at < 0 || !in.lives(e.Name) || s.Status.Engines[at].Phase != v1alpha1.Capturing ||
			slices.ContainsFunc(lists, func(name string) bool { return !slices.Contains(s.Status.Engines[at].Lists, name) }) {
			return false
		}
	}
	return engines > 0
}

// references returns what an ArchiveShard says of lists.
func (s *compiledShard) references() (out []v1alpha1.ChannelListReference) {
	out = references(s.lists)
	for _, name := range s.leaving {
		out = append(out, v1alpha1.ChannelListReference{Name: name, Leaving: true})
	}
	return out
}

// captured returns the names of all lists that are to be captured.
func (s *compiledShard) captured() []string { return slices.Concat(s.lists, s.leaving) }

// busy says whether the shard has something to capture.
func (s *compiledShard) busy() bool { return len(s.lists)+len(s.leaving) > 0 }
