package plan

import (
	"fmt"

	"varve.dev/varve/groups/compile"
)

// Deletion is a deletion of samples that a change begins. The samples do not come back.
type Deletion struct {
	Group string `json:"group"`
	// Entry is the place in the group, such as deletions[0].
	Entry string `json:"entry"`
	// PVs are the PVs whose samples are deleted, sorted.
	PVs []string `json:"pvs"`
	// Range is the range of time, and Reason says why the samples are deleted.
	Range  string `json:"range"`
	Reason string `json:"reason"`
}

// compareErasures adds the deletions of samples that only the groups after the change request.
func (p *Plan) compareErasures(before, after []compile.Erasure) {
	type deleted struct {
		pv       string
		from, to int64
	}
	known := map[deleted]bool{}
	for i := range before {
		for _, pv := range before[i].PVs {
			known[deleted{pv, before[i].From, before[i].To}] = true
		}
	}
	for i := range after {
		e := &after[i]
		d := Deletion{Group: e.Group, Entry: fmt.Sprintf("deletions[%d]", e.Index), Range: e.Range(), Reason: e.Reason}
		for _, pv := range e.PVs {
			if !known[deleted{pv, e.From, e.To}] {
				d.PVs = append(d.PVs, pv)
			}
		}
		if len(d.PVs) > 0 {
			p.Deletions = append(p.Deletions, d)
		}
	}
}
