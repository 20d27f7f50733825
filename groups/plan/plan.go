// Package plan says what a change of ArchiveGroups would change for PVs, before it is applied. It is pure:
//
//	groups in effect ─┬──────────────────▶ compile.Compile ──┐
//	                  ▼                                      ├─▶ Compare ──▶ Plan
//	new manifests ─▶ State.With ─────────▶ compile.Compile ──┘
//
// Both compilations have the same time and the same archive, so that they differ only by the manifests.
package plan

import (
	"cmp"
	"maps"
	"slices"

	"varve.dev/varve/engine/capture"
	"varve.dev/varve/groups/compile"
)

// Action is what happens to a PV.
type Action string

// Actions.
const (
	// Add means that no group names the PV yet.
	Add Action = "add"
	// Remove means that no group names the PV any longer. Its group may have expired before.
	Remove Action = "remove"
	// Change means that settings of the PV change. Its group or its shard may change, too.
	Change Action = "change"
	// Move means that only the group or the shard of the PV changes.
	Move Action = "move"
)

// PV is a PV that the change affects.
type PV struct {
	Name   string `json:"pv"`
	Action Action `json:"action"`
	// Group is namespace/name of the group whose settings the PV has after the change, or had before it is
	// removed. From is the group before, if it was another one.
	Group string `json:"group"`
	From  string `json:"fromGroup,omitempty"`
	// Rule is the rule of the group that applies to the PV after the change, such as rules[2]. It is empty if
	// there is none.
	Rule string `json:"rule,omitempty"`
	// OtherShard means that the PV moves to another shard, and so possibly to another engine.
	OtherShard bool `json:"otherShard,omitempty"`
	// DeletesData means that the stored data of the PV is deleted.
	DeletesData bool `json:"deletesData,omitempty"`
	// Settings are the settings that differ. Those of a new PV are its former names and aliases.
	Settings []Setting `json:"settings,omitempty"`
}

// Setting is a setting that changes. From and To are its old and its new value, as in a manifest.
type Setting struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Problem is a reason why a PV, or a group if PV is empty, would not be archived as requested.
type Problem struct {
	Group   string `json:"group"`
	PV      string `json:"pv,omitempty"`
	Message string `json:"message"`
}

// Plan is the effect of a change.
type Plan struct {
	// PVs are all PVs that the change affects, sorted by name.
	PVs []PV `json:"pvs"`
	// Added, Removed, Changed and Moved count the PVs by action. Unchanged counts the others.
	Added     int `json:"added"`
	Removed   int `json:"removed"`
	Changed   int `json:"changed"`
	Moved     int `json:"moved"`
	Unchanged int `json:"unchanged"`
	// DataDeleted counts the PVs whose stored data is deleted.
	DataDeleted int `json:"dataDeleted"`
	// Deletions are the deletions of samples that the change begins.
	Deletions []Deletion `json:"deletions"`
	// Later has the later events that the change adds or removes.
	Later []Later `json:"later"`
	// NewProblems are the problems that exist only after the change. MoreProblems counts further ones, which are not
	// listed because their group has too many.
	NewProblems  []Problem `json:"newProblems"`
	MoreProblems int       `json:"moreProblems"`
}

// Empty reports whether nothing happens to any PV or sample, now or later, and no problem is new.
func (p *Plan) Empty() bool {
	return len(p.PVs) == 0 && len(p.Deletions) == 0 && len(p.Later) == 0 && len(p.NewProblems) == 0 && p.MoreProblems == 0
}

// place is a channel with its shard.
type place struct {
	*capture.Channel
	shard int
}

// Compare compares the compilations of an archive before and after a change.
func Compare(before, after compile.Result, archive compile.Archive) Plan {
	plan := Plan{PVs: []PV{}, Deletions: []Deletion{}, Later: []Later{}, NewProblems: []Problem{}}
	was, is := places(before.Assignment), places(after.Assignment)
	for pv, now := range is {
		old, had := was[pv]
		if !had {
			plan.add(PV{Name: pv, Action: Add, Group: now.Group, Settings: namesDiffer(nil, now.Names)})
			continue
		}
		plan.compare(old, now, archive)
	}
	deleted := places(after.Deletions)
	for pv, old := range was {
		if _, stays := is[pv]; !stays {
			_, deletes := deleted[pv]
			plan.add(PV{Name: pv, Action: Remove, Group: old.Group, DeletesData: deletes})
		}
	}
	deletedBefore := places(before.Deletions)
	for pv, gone := range deleted { // the data of PVs that are not captured any longer, such as those of an expired group
		_, captured := was[pv]
		_, added := is[pv]
		if _, already := deletedBefore[pv]; !captured && !added && !already {
			plan.add(PV{Name: pv, Action: Remove, Group: gone.Group, DeletesData: true})
		}
	}
	slices.SortFunc(plan.PVs, func(a, b PV) int { return cmp.Compare(a.Name, b.Name) })
	plan.compareErasures(before.Erasures, after.Erasures)
	plan.compareProblems(before.Groups, after.Groups)
	return plan
}

func places(assignment map[int][]capture.Channel) map[string]place {
	out := map[string]place{}
	for shard, channels := range assignment {
		for i := range channels {
			out[channels[i].PV] = place{&channels[i], shard}
		}
	}
	return out
}

// add adds a PV and counts it.
func (p *Plan) add(pv PV) {
	p.PVs = append(p.PVs, pv)
	switch pv.Action {
	case Add:
		p.Added++
	case Remove:
		p.Removed++
	case Change:
		p.Changed++
	case Move:
		p.Moved++
	}
	if pv.DeletesData {
		p.DataDeleted++
	}
}

// compare compares a PV that groups name before and after the change.
func (p *Plan) compare(old, now place, archive compile.Archive) {
	pv := PV{Name: now.PV, Action: Move, Group: now.Group, OtherShard: old.shard != now.shard}
	if old.Group != now.Group {
		pv.From = old.Group
	}
	pv.Settings = differences(old, now, archive)
	switch {
	case len(pv.Settings) > 0:
		pv.Action = Change
	case pv.From == "" && !pv.OtherShard:
		p.Unchanged++
		return
	}
	p.add(pv)
}

// compareProblems adds the problems that only the groups after the change have.
func (p *Plan) compareProblems(before, after map[string]*compile.Group) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		known, more := map[compile.Problem]bool{}, 0
		if old := before[name]; old != nil {
			more = old.MoreProblems
			for _, problem := range old.Problems {
				known[problem] = true
			}
		}
		for _, problem := range after[name].Problems {
			if !known[problem] {
				p.NewProblems = append(p.NewProblems, Problem{Group: name, PV: problem.PV, Message: problem.Message})
			}
		}
		p.MoreProblems += max(0, after[name].MoreProblems-more)
	}
}
