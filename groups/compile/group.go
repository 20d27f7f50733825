package compile

import (
	"slices"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
)

// Group is the outcome for one ArchiveGroup.
type Group struct {
	// Expired says that the group's time is over: none of its PVs is captured
	// on its behalf, and all other fields are zero.
	Expired bool
	// Deleting is the number of PVs whose data is to be deleted with the group.
	Deleting int
	// Channels counts the group's PVs without Problems; Paused those of them
	// that are not captured because they are paused.
	Channels, Paused int
	// Twice is the number of Channels that two engines are to capture, as this group
	// or another one asks.
	Twice int
	// ByShard counts the Channels of each shard that has some.
	ByShard map[int]int
	// Fingerprint changes with what is to be captured on the group's behalf: PVs,
	// settings and shards. It is the same for the same groups in one program.
	Fingerprint uint64
	// Conflicts are the group's first PVs that other groups have too, by PV;
	// MoreConflicts is the number of those left out.
	Conflicts     []Conflict
	MoreConflicts int
	// Divided is the number of PVs among all those that the groups want by
	// different providers.
	Divided int
	// Problems are what keeps PVs from being archived as asked, by PV;
	// MoreProblems is the number of those left out.
	Problems     []Problem
	MoreProblems int
	// Retention says that the group limits how long data is kept. Longer is the number
	// of its PVs of which more is kept, or for longer, as other groups ask.
	Retention bool
	Longer    int
}

// Conflict is a PV that several groups have.
type Conflict struct {
	PV     string
	Groups []string // namespace/name, the oldest first, which gives the shard
	// Divided says that the groups want it by different providers. It is captured
	// by Provider, as the oldest says that is not paused.
	Divided  bool
	Provider capture.Provider
}

// Problem is something wrong with one channel, or with the whole group if PV is
// empty. The rest of the group is archived.
type Problem struct {
	PV      string
	Message string
}

// count adds a channel, whose PV, settings and shard have a hash.
func (g *Group) count(shard int, paused bool, hash uint64) {
	g.Fingerprint += hash // in any order
	g.Channels++
	if paused {
		g.Paused++
	}
	if g.ByShard == nil {
		g.ByShard = map[int]int{}
	}
	g.ByShard[shard]++
}

func (g *Group) addProblem(pv, message string) {
	if len(g.Problems) >= MaxTold {
		g.MoreProblems++
		return
	}
	g.Problems = append(g.Problems, Problem{PV: pv, Message: message})
}

func (g *Group) addProblems(problems []Problem, more int) {
	for _, p := range problems {
		g.addProblem(p.PV, p.Message)
	}
	g.MoreProblems += more
}

// hasRetention reports whether the group, or a channel of it, limits how long
// data is kept.
func hasRetention(spec *v1alpha1.ArchiveGroupSpec) bool {
	return spec.Retention != nil ||
		slices.ContainsFunc(spec.Channels, func(ch v1alpha1.Channel) bool { return ch.Retention != nil })
}
