// Package compile turns ArchiveGroups into what engines capture. It is pure: the
// same groups, in any order, give the same result.
//
//	groups ──▶ wants: PV × group × settings ──sort──▶ per PV: merge, shard ──▶ Assignment
//	             │ bad names, bad settings                │ two groups
//	             ▼                                        ▼
//	          Problems                                Conflicts
//
// A PV in several groups is captured once, under the settings that keep more.
// Which shard it belongs to depends on its oldest group and its own name only,
// so that an edit moves nothing else.
package compile

import (
	"cmp"
	"slices"
	"time"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
)

// Result is what the engines are to capture, and what to tell the groups.
type Result struct {
	// Assignment has an entry for every shard, also for those without
	// channels. Channels are ordered by PV. Channels with equal settings share
	// them; they must not be changed.
	Assignment capture.Assignment
	// Groups has what to tell each group, by namespace/name.
	Groups map[string]*Group
	// NextExpiry is when the next group expires, so that Compile has to run
	// again; zero if none does.
	NextExpiry time.Time
}

// Group is the outcome for one ArchiveGroup.
type Group struct {
	// Expired says that the group's time is over: none of its PVs is captured
	// on its behalf, and all other fields are zero.
	Expired bool
	// Channels counts the group's PVs without Problems; Paused those of them
	// that are not captured because they are paused.
	Channels, Paused int
	// Conflicts are the group's PVs that other groups have too, by PV.
	Conflicts []Conflict
	// Problems are what keeps PVs from being archived as asked, by PV.
	Problems []Problem
}

// Conflict is a PV that several groups have.
type Conflict struct {
	PV     string
	Groups []string // namespace/name, the oldest first, which gives the shard
}

// Problem is something wrong with one channel, or with the whole group if PV is
// empty. The rest of the group is archived.
type Problem struct {
	PV      string
	Message string
}

// want is one group's wish for one PV.
type want struct {
	pv       string
	age      int // rank of the group, 0 is the oldest
	settings capture.Settings
}

// Compile assigns the channels of groups to shards. Groups that expired at now
// are left out. shards must be positive, and the same for all time: what is
// captured moves otherwise.
func Compile(groups []v1alpha1.ArchiveGroup, shards int, now time.Time) Result {
	if shards <= 0 {
		panic("BUG: compiling for no shards")
	}
	c := compiler{
		result:  Result{Assignment: make(capture.Assignment, shards), Groups: make(map[string]*Group, len(groups))},
		classes: map[capture.Settings]*capture.Settings{},
		shards:  shards,
	}
	for shard := range shards {
		c.result.Assignment[shard] = nil
	}
	for _, g := range oldestFirst(groups) {
		c.add(g, now)
	}
	slices.SortFunc(c.wants, func(a, b want) int {
		return cmp.Or(cmp.Compare(a.pv, b.pv), cmp.Compare(a.age, b.age))
	})
	for rest := c.wants; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].pv == rest[0].pv {
			n++
		}
		c.assign(rest[:n])
		rest = rest[n:]
	}
	for _, g := range c.result.Groups {
		slices.SortStableFunc(g.Problems, func(a, b Problem) int { return cmp.Compare(a.PV, b.PV) })
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

// compiler is one run of Compile.
type compiler struct {
	result  Result
	classes map[capture.Settings]*capture.Settings
	shards  int

	// By age of the groups that take part.
	names []string
	keys  []keyFunc
	wants []want
}

// add collects what a group wants.
func (c *compiler) add(g *v1alpha1.ArchiveGroup, now time.Time) {
	name := g.Namespace + "/" + g.Name
	out := &Group{}
	c.result.Groups[name] = out
	if at := g.Spec.ExpiresAt; at != nil {
		if !at.After(now) {
			out.Expired = true
			return
		}
		if c.result.NextExpiry.IsZero() || at.Time.Before(c.result.NextExpiry) {
			c.result.NextExpiry = at.Time
		}
	}
	key, err := shardKey(g.Spec.ShardBy, name)
	if err != nil {
		out.Problems = append(out.Problems, Problem{Message: err.Error()})
	}
	c.names = append(c.names, name)
	c.keys = append(c.keys, key)
	c.wants = slices.Grow(c.wants, len(g.Spec.Channels))
	c.addChannels(&g.Spec, len(c.names)-1, out)
}

// assign puts one PV into its shard. wants are of the same PV, the oldest
// group's first.
func (c *compiler) assign(wants []want) {
	oldest := wants[0]
	if len(wants) > 1 {
		conflict := Conflict{PV: oldest.pv}
		for _, w := range wants {
			conflict.Groups = append(conflict.Groups, c.names[w.age])
		}
		for _, name := range conflict.Groups {
			c.result.Groups[name].Conflicts = append(c.result.Groups[name].Conflicts, conflict)
		}
	}
	settings, decides := merge(wants)
	for _, w := range wants {
		g := c.result.Groups[c.names[w.age]]
		g.Channels++
		if settings.Paused {
			g.Paused++
		}
	}
	shard := c.keys[oldest.age].shard(oldest.pv, c.shards)
	c.result.Assignment[shard] = append(c.result.Assignment[shard], capture.Channel{
		PV:       oldest.pv,
		Group:    c.names[decides.age],
		Settings: c.class(settings),
	})
}

// class returns the one copy of equal settings.
func (c *compiler) class(s capture.Settings) *capture.Settings {
	shared := c.classes[s]
	if shared == nil {
		shared = &s
		c.classes[s] = shared
	}
	return shared
}
