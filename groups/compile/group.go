package compile

import (
	"slices"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
)

// Group is the outcome for one ArchiveGroup.
type Group struct {
	// Expired means that the group has expired. No PV is captured on its behalf, and all
	// other fields are zero.
	Expired bool
	// Deleting is the number of PVs whose data is deleted with the group.
	Deleting int
	// Kept is the number of PVs whose data stays, although the group is deleted together with its data, because no
	// policy lets the group own them.
	Kept int
	// NotOwned is the number of PVs that policies forbid the group to archive. Each is a problem, too.
	NotOwned int
	// Channels counts the group's valid PVs. Paused counts the Channels that are paused and
	// therefore not captured.
	Channels, Paused int
	// Ended counts the Channels whose own expiresAt has passed. They are paused, unless another group captures them.
	Ended int
	// Renamed counts the Channels with former names, and Aliases all their aliases.
	Renamed, Aliases int
	// ByRule has, for each rule of the group, the number of names that it applies to. It is nil if there are no rules.
	ByRule []int
	// Redundant counts the Channels that two engines capture because this group or another one
	// requests it.
	Redundant int
	// ByShard counts the Channels by shard.
	ByShard map[int]int
	// Fingerprint changes when the captured PVs of the group, their settings or their shards
	// change. It is comparable only within one process.
	Fingerprint uint64
	// Conflicts are the group's first PVs that are also in other groups, sorted by PV.
	// MoreConflicts counts the rest.
	Conflicts     []Conflict
	MoreConflicts int
	// DifferentProviders counts the PVs in conflict for which the groups request different
	// providers.
	DifferentProviders int
	// Problems are the first reasons why PVs are not archived as requested, sorted by PV.
	// MoreProblems counts the rest.
	Problems     []Problem
	MoreProblems int
	// Patterns are the group's first names that look like patterns, in the order of the group.
	// MorePatterns counts the rest. Each is captured as a PV of exactly this name.
	Patterns     []string
	MorePatterns int
	// Retention means that the group limits how long data is kept. KeptLonger counts its PVs
	// whose data is kept for longer, or with more rollups, because other groups request it.
	Retention  bool
	KeptLonger int
	// Deletions has the outcome for each entry of spec.deletions.
	Deletions []Deletion
}

// Deletion is the outcome for a deletion of samples that a group requests.
type Deletion struct {
	// PVs is the number of PVs whose samples are to be deleted now, and Hash a hash of their names.
	PVs  int
	Hash uint64
	// Waiting says why nothing is deleted now, or is "". Then there is an Erasure.
	Waiting string
}

// Conflict is a PV that is in several groups.
type Conflict struct {
	PV     string
	Groups []string // namespace/name; the first is the oldest and determines the shard
	// DifferentProviders means that the groups request different providers. Provider is the
	// provider in use. The oldest group that is not paused decides it.
	DifferentProviders bool
	Provider           capture.Provider
}

// Problem is a problem of one channel, or of the whole group if PV is empty. The rest of the
// group is archived.
type Problem struct {
	PV      string
	Message string
}

// count counts a channel. hash is the hash of its PV, settings and shard.
func (g *Group) count(shard int, paused bool, hash uint64) {
	g.Fingerprint += hash // independent of the order
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
	if len(g.Problems) >= MaxReported {
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

// maxPatterns limits the Patterns of a group.
const maxPatterns = 5

func (g *Group) addPattern(name string) {
	if len(g.Patterns) >= maxPatterns {
		g.MorePatterns++
		return
	}
	g.Patterns = append(g.Patterns, name)
}

// UnusedRules returns the indexes of rules that apply to no PV. There are none if the group has no PVs yet.
func (g *Group) UnusedRules() (unused []int) {
	for i, n := range g.ByRule {
		if n == 0 && g.Channels > 0 {
			unused = append(unused, i)
		}
	}
	return unused
}

// hasRetention reports whether the group or one of its channels limits how long
// data is kept.
func hasRetention(spec *v1alpha1.ArchiveGroupSpec) bool {
	return spec.Retention != nil ||
		slices.ContainsFunc(spec.Rules, func(r v1alpha1.Rule) bool { return r.Retention != nil }) ||
		slices.ContainsFunc(spec.Channels, func(ch v1alpha1.Channel) bool { return ch.Retention != nil })
}
