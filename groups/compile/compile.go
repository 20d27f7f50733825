// Package compile turns ArchiveGroups into what engines capture. It is pure: the
// same groups, in any order, give the same result.
//
//	groups, names listed elsewhere ──▶ wants: PV × group × settings
//	   │ bad names, bad settings             │ sort
//	   ▼                                     ▼
//	Problems            Conflicts ◀── per PV: merge, shard ──▶ Assignment
//	                                         └── wanted by deleted groups only ──▶ Deletions
//
// A PV in several groups is captured once, under the settings that keep more, by
// the provider of the oldest group. Which shard it belongs to depends on its
// oldest group and its own name only, so that an edit moves nothing else; and on
// whether some group wants it captured twice, which is done in shards of their own.
package compile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/pvname"
)

// MaxTold bounds Conflicts and Problems of a group. Of what goes beyond only the
// number is kept: 200,000 PVs may be wrong in the same way.
const MaxTold = 100

// Result is what the engines are to capture, and what to tell the groups.
type Result struct {
	// Assignment has an entry for every shard below Archive.Shards, also for those
	// without channels, and for every other one with channels: see
	// Archive.Replicas. Channels are ordered by PV. Channels with equal settings
	// share them; they must not be changed.
	Assignment map[int][]capture.Channel
	// Deletions are the PVs whose data is to be deleted, by shard, ordered by
	// PV. No group that stays names any of them. Group is the oldest of those
	// that are being deleted; there are no Settings.
	Deletions map[int][]capture.Channel
	// Groups has what to tell each group, by namespace/name.
	Groups map[string]*Group
	// NextExpiry is when the next group expires, so that Compile has to run
	// again; zero if none does.
	NextExpiry time.Time
}

// Archive is what all groups of an archive have in common.
type Archive struct {
	// Shards is the number of shards. It must be positive, and the same for all
	// time: what is captured moves otherwise.
	Shards int
	// Provider of channels where neither they nor their group say another one.
	Provider capture.Provider
	// Alone says that there is one engine and never another: a PV is captured once,
	// whatever the groups say.
	Alone bool
}

// Replicas returns how many engines are to capture a shard. The PVs that one engine
// captures are in shards 0 to Shards-1, those that two capture in as many shards
// after these, in the same order.
func (a Archive) Replicas(shard int) int {
	if shard < a.Shards {
		return 1
	}
	return 2
}

// Compile assigns the channels of groups to shards: those in the groups, and
// those listed for them by namespace/name. Groups that expired at now or are being
// deleted are left out.
func Compile(groups []v1alpha1.ArchiveGroup, listed map[string]Listed, archive Archive, now time.Time) Result {
	shards := archive.Shards
	if shards <= 0 {
		panic("BUG: compiling for no shards")
	}
	c := compiler{
		result: Result{
			Assignment: make(map[int][]capture.Channel, shards),
			Deletions:  map[int][]capture.Channel{},
			Groups:     make(map[string]*Group, len(groups)),
		},
		Archive:  archive,
		classes:  map[class]*class{},
		numbers:  map[*capture.Settings]uint64{},
		deleting: slices.ContainsFunc(groups, func(g v1alpha1.ArchiveGroup) bool { return deletesData(&g) }),
	}
	for shard := range shards {
		c.result.Assignment[shard] = nil
	}
	c.wants = make([]want, 0, names(groups, listed))
	for _, g := range oldestFirst(groups) {
		c.add(g, listed[key(g)], now)
	}
	slices.SortFunc(c.wants, compareWants)
	for rest := c.wants; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].pv == rest[0].pv {
			n++
		}
		c.decide(c.withoutDuplicates(rest[:n]))
		rest = rest[n:]
	}
	for _, m := range c.members {
		slices.SortStableFunc(m.out.Problems, func(a, b Problem) int { return cmp.Compare(a.PV, b.PV) })
	}
	return c.result
}

// oldestFirst orders groups by creation, then by name, so that the order does
// not depend on who lists them.
func oldestFirst(groups []v1alpha1.ArchiveGroup) []*v1alpha1.ArchiveGroup {
	sorted := make([]*v1alpha1.ArchiveGroup, len(groups))
	for i := range groups {
		sorted[i] = &groups[i]
	}
	slices.SortFunc(sorted, func(a, b *v1alpha1.ArchiveGroup) int {
		return cmp.Or(
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name))
	})
	return sorted
}

// names is how many names groups have, with what is listed for them.
func names(groups []v1alpha1.ArchiveGroup, listed map[string]Listed) (n int) {
	for i := range groups {
		n += len(groups[i].Spec.Channels) + len(listed[key(&groups[i])].Names)
	}
	return n
}

func key(g *v1alpha1.ArchiveGroup) string { return g.Namespace + "/" + g.Name }

// deletesData reports whether a group is being deleted together with its data.
func deletesData(g *v1alpha1.ArchiveGroup) bool {
	return !g.DeletionTimestamp.IsZero() && g.Spec.DeletionPolicy == v1alpha1.DeleteData &&
		slices.Contains(g.Finalizers, v1alpha1.DataFinalizer)
}

// compiler is one run of Compile.
type compiler struct {
	Archive
	result   Result
	classes  map[class]*class
	numbers  map[*capture.Settings]uint64 // a hash of each class
	deleting bool                         // some group deletes data

	members []member // that take part, the oldest first
	wants   []want
}

// member is a group that takes part.
type member struct {
	name string
	role role
	key  keyFunc
	spec *v1alpha1.ArchiveGroupSpec
	out  *Group
}

// role is what a group's naming a PV means.
type role uint8

const (
	captures role = iota // the PV is to be captured
	keeps                // its data is to be kept: the group has expired
	deletes              // its data is to be deleted, if nobody else names it
)

// add collects what a group wants.
func (c *compiler) add(g *v1alpha1.ArchiveGroup, listed Listed, now time.Time) {
	m := member{name: key(g), spec: &g.Spec, out: &Group{}}
	c.result.Groups[m.name] = m.out
	at := g.Spec.ExpiresAt
	switch {
	case !g.DeletionTimestamp.IsZero():
		if !deletesData(g) {
			return
		}
		m.role = deletes
	case at != nil && !at.After(now):
		m.out.Expired = true
		if !c.deleting {
			return
		}
		m.role = keeps
	case at != nil && (c.result.NextExpiry.IsZero() || at.Time.Before(c.result.NextExpiry)):
		c.result.NextExpiry = at.Time
	}
	if m.role == captures {
		m.out.Retention = hasRetention(&g.Spec)
		m.out.addProblems(listed.Problems, listed.MoreProblems)
	}
	var err error
	if m.key, err = shardKey(g.Spec.ShardBy, m.name); err != nil {
		m.out.addProblem("", err.Error())
	}
	if m.role == captures && c.Alone && wantsTwice(&g.Spec) {
		m.out.addProblem("", "redundancy 2 has no effect: there is one engine, which captures each PV once")
	}
	c.members = append(c.members, m)
	c.addChannels(m, listed.Names)
	if m.role == keeps { // nothing of it is told
		*m.out = Group{Expired: true}
	}
}

// decide says what becomes of one PV. wants are of different groups, the oldest
// first.
func (c *compiler) decide(wants []want) {
	if !c.deleting {
		c.assign(wants)
		return
	}
	all := wants
	if wants = ofRole(wants, captures, c.members); len(wants) > 0 {
		c.assign(wants)
		return
	}
	if len(ofRole(all, keeps, c.members)) > 0 {
		return
	}
	oldest, owner := all[0], c.members[all[0].age]
	merged, _ := merge(all)
	shard := c.shard(oldest, merged.twice)
	c.result.Deletions[shard] = append(c.result.Deletions[shard], capture.Channel{PV: oldest.pv, Group: owner.name})
	for _, w := range all {
		c.members[w.age].out.Deleting++
	}
}

func ofRole(wants []want, r role, members []member) []want {
	var out []want
	for _, w := range wants {
		if members[w.age].role == r {
			out = append(out, w)
		}
	}
	return out
}

// assign puts one PV into its shard. wants are of groups that capture it, the
// oldest first.
func (c *compiler) assign(wants []want) {
	oldest := wants[0]
	shared, decides := oldest.settings, oldest
	if len(wants) > 1 {
		var merged class
		merged, decides = merge(wants)
		shared = c.share(merged)
		c.tellConflict(wants, &shared.Settings)
	}
	settings := &shared.Settings
	shard := c.shard(oldest, shared.twice)
	hash := c.hash(oldest.pv, settings, shard)
	for _, w := range wants {
		out := c.members[w.age].out
		out.count(shard, settings.Paused, hash)
		if shared.twice {
			out.Twice++
		}
		if w.settings.Retention != settings.Retention {
			out.Longer++
		}
	}
	c.result.Assignment[shard] = append(c.result.Assignment[shard], capture.Channel{
		PV:       oldest.pv,
		Group:    c.members[decides.age].name,
		Settings: settings,
	})
}

// tellConflict tells every group that wants a PV who else does.
func (c *compiler) tellConflict(wants []want, merged *capture.Settings) {
	divided := slices.ContainsFunc(wants, func(w want) bool {
		return w.settings.Provider != merged.Provider && w.settings.Paused == merged.Paused
	})
	var names []string // made once, if anybody takes it
	for _, w := range wants {
		g := c.members[w.age].out
		if divided {
			g.Divided++
		}
		if len(g.Conflicts) >= MaxTold {
			g.MoreConflicts++
			continue
		}
		if names == nil {
			for _, w := range wants {
				names = append(names, c.members[w.age].name)
			}
		}
		g.Conflicts = append(g.Conflicts, Conflict{PV: w.pv, Groups: names, Divided: divided, Provider: merged.Provider})
	}
}

// class is what a group wants of a PV: its settings, and whether two engines are to
// capture it.
type class struct {
	capture.Settings
	twice bool
}

// share returns the one copy of equal classes.
func (c *compiler) share(of class) *class {
	shared := c.classes[of]
	if shared == nil {
		shared = &of
		c.classes[of] = shared
	}
	return shared
}

// shard returns the shard of a PV, given what the oldest group wants of it.
func (c *compiler) shard(oldest want, twice bool) int {
	shard := pvname.Shard(c.members[oldest.age].key(oldest.pv), c.Shards)
	if twice {
		shard += c.Shards
	}
	return shard
}

// hash is of all that engines are told of a PV.
func (c *compiler) hash(pv string, s *capture.Settings, shard int) uint64 {
	class, known := c.numbers[s]
	if !known {
		class = xxhash.Sum64String(fmt.Sprintf("%+v", *s))
		c.numbers[s] = class
	}
	const odd = 0x9e3779b97f4a7c15
	return xxhash.Sum64String(pv) * (class ^ uint64(shard)*odd | 1)
}
