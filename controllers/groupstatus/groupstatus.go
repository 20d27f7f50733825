// Package groupstatus says what a group's status is. It is pure:
//
//	group, Archiver there? ─┐
//	compile.Group ──────────┼─▶ Compute ──▶ conditions, counts, rates, worst channels
//	engines' reports ───────┘                  │
//	status as it is ──▶ Changed ◀──────────────┘
//
// Texts have no times in them and numbers are rounded, so that a status changes
// only with what it is about.
package groupstatus

import (
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/figures"
	"varve.dev/varve/groups/compile"
)

// Input is what a status depends on.
type Input struct {
	// Group with the status that it has.
	Group *v1alpha1.ArchiveGroup
	// ArchiverFound says that the Archiver of archiverRef exists.
	ArchiverFound bool
	// Compiled is the outcome of the latest compilation, and CompiledGeneration
	// the generation of the group that it is of. It is nil if there was none
	// since the operator started.
	Compiled           *compile.Group
	CompiledGeneration int64
	// Outdated is the number of shards with channels of the group that are not
	// captured as the latest compilation says. Unplaced is the number of shards
	// of the Archiver, with channels, that no engine has.
	Outdated, Unplaced int
	// Reports of the Archiver's engines.
	Reports []report.Report
	// Starting says that the operator has not asked the engines yet: what they
	// said last counts.
	Starting bool
	Now      time.Time
}

// Compute returns the status that the group should have.
func Compute(in Input) v1alpha1.ArchiveGroupStatus {
	var out v1alpha1.ArchiveGroupStatus
	if in.Group.Status != nil {
		out = *in.Group.Status.DeepCopy()
	}
	if in.ArchiverFound && in.Compiled == nil && out.ObservedGeneration == in.Group.Generation && in.Group.DeletionTimestamp.IsZero() {
		return out // the operator has just started
	}
	setConditions(&out.Conditions, in)
	switch {
	case !in.ArchiverFound:
		out.Channels, out.Rates, out.WorstChannels = nil, nil, nil
	case in.Compiled != nil:
		total := int32(in.Compiled.Channels)
		if !in.Starting {
			out.Channels, out.Rates = figures.Sum(in.of(), total, out.Rates)
			out.WorstChannels = worst(in)
		} else if out.Channels == nil {
			out.Channels = &v1alpha1.ChannelCounts{}
		}
		out.Channels.Total = total
	}
	if in.Compiled != nil || !in.ArchiverFound {
		out.ObservedGeneration = observed(in)
	}
	return out
}

// observed is the generation that a status is of.
func observed(in Input) int64 {
	if in.Compiled != nil {
		return in.CompiledGeneration
	}
	return in.Group.Generation
}

// writeEvery is how often counts and rates are written.
const writeEvery = 30 * time.Second

// Changed reports whether a status is to be written: at once if a condition
// changes or a figure that people wait for is there, now and then if only texts
// and numbers move.
func Changed(old *v1alpha1.ArchiveGroupStatus, computed v1alpha1.ArchiveGroupStatus, sinceWritten time.Duration) bool {
	if old == nil {
		return true
	}
	if apiequality.Semantic.DeepEqual(*old, computed) {
		return false
	}
	return sinceWritten >= writeEvery || transition(old, &computed) ||
		figures.Appeared(figures.Figures{Channels: old.Channels, Rates: old.Rates}, figures.Figures{Channels: computed.Channels, Rates: computed.Rates})
}

func transition(old, computed *v1alpha1.ArchiveGroupStatus) bool {
	if old.ObservedGeneration != computed.ObservedGeneration || len(old.Conditions) != len(computed.Conditions) {
		return true
	}
	for _, c := range computed.Conditions {
		was := meta.FindStatusCondition(old.Conditions, c.Type)
		if was == nil || was.Status != c.Status || was.Reason != c.Reason || was.ObservedGeneration != c.ObservedGeneration {
			return true
		}
	}
	return false
}
