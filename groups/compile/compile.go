// Package compile turns ArchiveGroups into the channels that engines capture. Both the
// operator and the standalone archiver use it. It is pure: the same groups, in any order, give
// the same result.
//
//	groups, names listed elsewhere ──▶ wants: PV × group × settings
//	   │ invalid names, settings             │ sort
//	   ▼                                     ▼
//	Problems, refusals  Conflicts ◀── per PV: merge, shard ──▶ Assignment
//	                                         └── only in groups being deleted ──▶ Deletions
//
// A PV in several groups is captured once, with the settings that keep more, by the provider
// of the oldest group. Its shard depends only on its name, on its oldest group, and on whether
// any group requests two engines for it. PVs that two engines capture have separate shards. An
// edit of one PV therefore never moves another PV.
package compile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/policy"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/engine/store"
)

// MaxReported limits the Conflicts and Problems of a group. Beyond the limit they are only
// counted: 200,000 PVs may have the same problem.
const MaxReported = 100

// Result is the assignment of channels to shards, and the outcome for each group.
type Result struct {
	// Assignment has an entry for each shard below Archive.Shards, even without channels,
	// and for each higher shard that has channels: see Archive.Replicas. Channels are sorted
	// by PV. Channels with equal settings share them; callers must not change the settings.
	Assignment map[int][]capture.Channel
	// Deletions are the PVs whose data must be deleted, by shard, sorted by PV. No remaining
	// group names any of them. Group is the oldest of the groups being deleted; Settings is
	// nil.
	Deletions map[int][]capture.Channel
	// Erasures are the deletions of samples that groups request.
	Erasures []Erasure
	// Groups has the outcome for each group, by namespace/name.
	Groups map[string]*Group
	// Policies has the outcome for each policy that decides about a PV of a group, by name.
	Policies map[string]*PolicyOutcome
	// NextExpiry is when the next group or channel expires, or the next planned pause begins or ends, so that
	// Compile must run again. It is in the future, or zero if there is no such time.
	NextExpiry time.Time
}

// Archive holds the settings that all groups of an archive share.
type Archive struct {
	// Shards is the number of shards. It must be positive and must never change, because
	// PVs would move to other shards.
	Shards int
	// Provider is the default provider of channels.
	Provider capture.Provider
	// Alone means that there is only one engine. It captures each PV once, even if groups
	// request redundancy.
	Alone bool
	// Policies say which groups may archive which PVs. Planned are these policies and those that only warn. Both
	// may be nil.
	Policies, Planned *policy.Set
	// Incomplete means that groups may be missing, because a manifest cannot be read. No samples are deleted then.
	Incomplete bool
}

// Replicas returns how many engines capture a shard. Shards 0 to Shards-1 hold the PVs that
// one engine captures. As many shards after these hold the PVs that two engines capture, in
// the same order.
func (a Archive) Replicas(shard int) int {
	if shard < a.Shards {
		return 1
	}
	return 2
}

// Compile assigns the channels of groups to shards. listed has additional names for the groups,
// by namespace/name of the group. Compile ignores groups that have expired at now or are being
// deleted.
func Compile(groups []v1alpha1.ArchiveGroup, listed map[string]Listed, archive Archive, now time.Time) Result {
	shards := archive.Shards
	if shards <= 0 {
		panic("BUG: compiling for no shards")
	}
	c := compiler{
		now: now,
		result: Result{
			Assignment: make(map[int][]capture.Channel, shards),
			Deletions:  map[int][]capture.Channel{},
			Groups:     make(map[string]*Group, len(groups)),
			Policies:   map[string]*PolicyOutcome{},
		},
		Archive:  archive,
		classes:  map[class]*class{},
		numbers:  map[*capture.Settings]uint64{},
		refused:  map[string]store.Retention{},
		deleting: slices.ContainsFunc(groups, func(g v1alpha1.ArchiveGroup) bool { return deletesData(&g) || len(g.Spec.Deletions) > 0 }),
	}
	for shard := range shards {
		c.result.Assignment[shard] = nil
	}
	c.wants = make([]want, 0, names(groups, listed))
	for _, g := range oldestFirst(groups) {
		c.add(g, listed[key(g)])
		if listed[key(g)].Incomplete && c.incomplete == "" {
			c.incomplete = "a source of group " + key(g) + " has no content yet"
		}
	}
	slices.SortFunc(c.wants, compareWants)
	for rest := c.wants; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].pv == rest[0].pv {
			n++
		}
		unique := c.withoutDuplicates(rest[:n])
		c.noteErasures(unique)
		c.decide(unique)
		rest = rest[n:]
	}
	c.endErasures()
	c.nameChannels()
	for _, m := range c.members {
		slices.SortStableFunc(m.out.Problems, func(a, b Problem) int { return cmp.Compare(a.PV, b.PV) })
	}
	return c.result
}

// oldestFirst sorts groups by creation time, then by name, so that the order of the input
// does not matter.
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

// names returns the number of names in the groups, including the listed names.
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
	now      time.Time
	result   Result
	classes  map[class]*class
	numbers  map[*capture.Settings]uint64 // hashes of settings
	deleting bool                         // some group deletes data, or samples
	refused  map[string]store.Retention   // of PVs in groups that policies refuse

	erasing    []*erasing
	erasedIn   map[string]int // shards of captured PVs whose samples are deleted
	incomplete string         // why names of groups may be missing, or ""
	members    []member       // participating groups, the oldest first
	wants      []want
	named      []*otherNames // channels with former names or aliases
}

// member is a participating group.
type member struct {
	name  string // namespace/name
	group string // the name without the namespace
	role  role
	key   keyFunc
	spec  *v1alpha1.ArchiveGroupSpec
	out   *Group

	rules  []rule
	pauses []pause
}

// role is what a group that names a PV requests for it.
type role uint8

const (
	captures role = iota // capture the PV
	keeps                // keep its data: the group has expired
	deletes              // delete its data, if no other group names the PV
)

// add collects the wants of a group.
func (c *compiler) add(g *v1alpha1.ArchiveGroup, listed Listed) {
	m := member{name: key(g), group: g.Name, spec: &g.Spec, out: &Group{}}
	c.result.Groups[m.name] = m.out
	at := g.Spec.ExpiresAt
	switch {
	case !g.DeletionTimestamp.IsZero():
		if !deletesData(g) {
			return
		}
		m.role = deletes
	case at != nil && !at.After(c.now):
		m.out.Expired = true
		if !c.deleting {
			return
		}
		m.role = keeps
	case at != nil:
		c.runAgainAt(at.Time)
	}
	if m.role == captures {
		m.out.Retention = hasRetention(&g.Spec)
		m.out.addProblems(listed.Problems, listed.MoreProblems)
	}
	var err error
	if m.key, err = shardKey(g.Spec.ShardBy, m.name); err != nil {
		m.out.addProblem("", err.Error())
	}
	m.rules, m.pauses = c.rulesOf(&m), c.pausesOf(&m)
	if m.role == captures && c.Alone && wantsTwice(&g.Spec) {
		m.out.addProblem("", "redundancy 2 has no effect: the only engine captures each PV once")
	}
	c.members = append(c.members, m)
	c.erasuresOf(&m)
	c.addChannels(m, listed.Names)
	if m.role == keeps { // an expired group has no other results
		*m.out = Group{Expired: true}
	}
}

// runAgainAt notes a time at which the result changes. It ignores times in the past.
func (c *compiler) runAgainAt(at time.Time) {
	if at.After(c.now) && (c.result.NextExpiry.IsZero() || at.Before(c.result.NextExpiry)) {
		c.result.NextExpiry = at
	}
}

// decide decides about one PV. Each want belongs to a different group, and the want of the
// oldest group is first.
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

// assign adds one PV to its shard. wants are the requests of the groups that capture the PV,
// the oldest group first.
func (c *compiler) assign(wants []want) {
	oldest := wants[0]
	shared, decides := oldest.settings, oldest
	if len(wants) > 1 {
		var merged class
		merged, decides = merge(wants)
		shared = c.share(merged)
		c.reportConflict(wants, &shared.Settings)
	}
	owned := shared.Retention
	if r, found := c.refused[oldest.pv]; found {
		longer := *shared
		longer.Retention = keepLonger(longer.Retention, r)
		shared = c.share(longer)
	}
	settings := &shared.Settings
	shard := c.shard(oldest, shared.twice)
	c.noteShard(oldest.pv, shard)
	hash := c.hash(oldest.pv, settings, shard)
	c.countOwned(oldest.pv)
	for _, w := range wants {
		out := c.members[w.age].out
		out.count(shard, settings.Paused, hash)
		if w.settings.ended {
			out.Ended++
		}
		if shared.twice {
			out.Redundant++
		}
		if w.settings.Retention != owned {
			out.KeptLonger++
		}
	}
	c.result.Assignment[shard] = append(c.result.Assignment[shard], capture.Channel{
		PV:       oldest.pv,
		Group:    c.members[decides.age].name,
		Settings: settings,
	})
}

// reportConflict adds a conflict to every group that names the PV.
func (c *compiler) reportConflict(wants []want, merged *capture.Settings) {
	differ := slices.ContainsFunc(wants, func(w want) bool {
		return w.settings.Provider != merged.Provider && w.settings.Paused == merged.Paused
	})
	var names []string // built once, when needed
	for _, w := range wants {
		g := c.members[w.age].out
		if differ {
			g.DifferentProviders++
		}
		if len(g.Conflicts) >= MaxReported {
			g.MoreConflicts++
			continue
		}
		if names == nil {
			for _, w := range wants {
				names = append(names, c.members[w.age].name)
			}
		}
		g.Conflicts = append(g.Conflicts, Conflict{PV: w.pv, Groups: names, DifferentProviders: differ, Provider: merged.Provider})
	}
}

// class holds a PV's settings in a group, and whether two engines should capture it.
type class struct {
	capture.Settings
	twice bool
	ended bool // the PV's own expiresAt has passed
}

// share returns the shared copy of a class.
func (c *compiler) share(of class) *class {
	shared := c.classes[of]
	if shared == nil {
		shared = &of
		c.classes[of] = shared
	}
	return shared
}

// shard returns the shard of a PV, given the want of its oldest group.
func (c *compiler) shard(oldest want, twice bool) int {
	shard := pvname.Shard(c.members[oldest.age].key(oldest.pv), c.Shards)
	if twice {
		shard += c.Shards
	}
	return shard
}

// hash returns a hash of everything that engines receive for a PV.
func (c *compiler) hash(pv string, s *capture.Settings, shard int) uint64 {
	class, known := c.numbers[s]
	if !known {
		class = xxhash.Sum64String(fmt.Sprintf("%+v", *s))
		c.numbers[s] = class
	}
	const odd = 0x9e3779b97f4a7c15
	return xxhash.Sum64String(pv) * (class ^ uint64(shard)*odd | 1)
}
