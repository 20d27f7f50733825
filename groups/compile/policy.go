package compile

import (
	"fmt"

	"varve.dev/varve/engine/policy"
	"varve.dev/varve/engine/store"
)

// PolicyOutcome counts what an ArchivePolicy decides about.
type PolicyOutcome struct {
	// Channels is the number of its PVs that groups archive.
	Channels int
	// Refused is the number of channels that it refuses, or would refuse, by namespace/name of the group.
	Refused map[string]int
}

func (c *compiler) outcomeOf(p *policy.Policy) *PolicyOutcome {
	out := c.result.Policies[p.Name]
	if out == nil {
		out = &PolicyOutcome{Refused: map[string]int{}}
		c.result.Policies[p.Name] = out
	}
	return out
}

// countOwned counts a PV that is archived.
func (c *compiler) countOwned(pv string) {
	for _, p := range c.Planned.Deciding(pv) {
		c.outcomeOf(p).Channels++
	}
}

// keepOfRefused notes the retention of a PV in a refused group. Like that of a paused group, it still counts:
// otherwise, a new policy would delete what the group has stored.
func (c *compiler) keepOfRefused(pv string, r store.Retention) {
	if longest, found := c.refused[pv]; found {
		r = keepLonger(longest, r)
	}
	c.refused[pv] = r
}

// refuses reports whether policies forbid the member to name a PV, and notes why. Then the result is that of a group
// without the PV: other groups and their conflicts do not show whether somebody else archives it.
func (w *wantCollector) refuses(pv string) bool {
	if w.role == deletes {
		if !w.Policies.KeepsData(w.group, pv) {
			return false
		}
		w.out.Kept++
		return true
	}
	if w.role == captures {
		for _, p := range w.Planned.Deciding(pv) {
			if !p.Owns(w.group) {
				w.outcomeOf(p).Refused[w.name]++
			}
		}
	}
	by, refused := w.Policies.Refuses(w.group, pv)
	if refused {
		w.out.NotOwned++
		w.out.addProblem(pv, fmt.Sprintf("ArchivePolicy %s does not let this group archive it", by))
	}
	return refused
}
