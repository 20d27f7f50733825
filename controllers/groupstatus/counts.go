package groupstatus

import (
	"cmp"
	"slices"
	"strings"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

// groupReports returns the engines' reports of the group.
func (in Input) groupReports() []report.Group {
	key := in.Group.Namespace + "/" + in.Group.Name
	var out []report.Group
	for _, r := range in.Reports {
		if g, there := r.Groups[key]; there {
			out = append(out, g)
		}
	}
	return out
}

// worst returns the channels that have had a problem for the longest time.
func worst(in Input) []v1alpha1.WorstChannel {
	const most, longestReason, longestMessage = 20, 64, 500
	var all []report.Channel
	for _, g := range in.groupReports() {
		all = append(all, g.Worst...)
	}
	slices.SortFunc(all, func(a, b report.Channel) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.PV, b.PV))
	})
	var out []v1alpha1.WorstChannel
	for _, ch := range all {
		if len(out) == most {
			break
		}
		if slices.ContainsFunc(out, func(w v1alpha1.WorstChannel) bool { return w.Name == ch.PV }) {
			continue // while its shard moves, two engines report it
		}
		out = append(out, v1alpha1.WorstChannel{
			Name: ch.PV, Reason: ch.Reason[:min(longestReason, len(ch.Reason))], Message: cut(ch.Message, longestMessage),
		})
	}
	return out
}
