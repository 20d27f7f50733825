// Package groupstatus computes the status of an ArchiveGroup. It is pure:
//
//	group, Archiver there? ─┐
//	compile.Group ──────────┼─▶ Compute ──▶ conditions, counts, rates, worst channels
//	engines' reports ───────┘                  │  deletions of samples
//	status as it is ──▶ Changed ◀──────────────┘
//
// Texts contain no times and numbers are rounded, so that a status changes only when the group's
// state changes.
package groupstatus

import (
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/figures"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/groups/compile"
)

// Input is everything that a status depends on.
type Input struct {
	// Group is the group with its current status.
	Group *v1alpha1.ArchiveGroup
	// ArchiverFound is set if the Archiver of spec.archiverRef exists.
	ArchiverFound bool
	// Compiled is the result of the latest compilation, and CompiledGeneration the generation of
	// the group that was compiled. Compiled is nil if there was no compilation since the operator
	// started.
	Compiled           *compile.Group
	CompiledGeneration int64
	// Outdated is the number of the group's shards whose engines do not capture the compiled
	// channels yet. Unplaced is the number of the Archiver's shards that have channels but no
	// engine.
	Outdated, Unplaced int
	// Deletions are how far the deletions of samples of the group are that have begun or may begin.
	Deletions []outcome.Deletion
	// Reports are the reports of the Archiver's engines.
	Reports []report.Report
	// Synced is set when the operator has polled the engines. Until then, Compute keeps the
	// numbers of the last status.
	Synced bool
	Now    time.Time
}

// Compute returns the new status of the group.
func Compute(in Input) v1alpha1.ArchiveGroupStatus {
	var out v1alpha1.ArchiveGroupStatus
	if in.Group.Status != nil {
		out = *in.Group.Status.DeepCopy()
	}
	if in.ArchiverFound && in.Compiled == nil && out.ObservedGeneration == in.Group.Generation && in.Group.DeletionTimestamp.IsZero() {
		return out // the operator has just started
	}
	setConditions(&out.Conditions, in)
	out.Deletions = deletions(in)
	switch {
	case !in.ArchiverFound:
		out.Channels, out.Rates, out.WorstChannels = nil, nil, nil
	case in.Compiled != nil:
		total := int32(in.Compiled.Channels)
		if in.Synced {
			out.Channels, out.Rates = figures.Sum(in.groupReports(), total, out.Rates)
			out.WorstChannels = worst(in)
		} else if out.Channels == nil {
			out.Channels = &v1alpha1.ChannelCounts{}
		}
		out.Channels.Total, out.Channels.Expired = total, int32(in.Compiled.Ended)
	}
	if in.Compiled != nil || !in.ArchiverFound {
		out.ObservedGeneration = observed(in)
	}
	return out
}

// observed returns the generation that the status describes.
func observed(in Input) int64 {
	if in.Compiled != nil {
		return in.CompiledGeneration
	}
	return in.Group.Generation
}

// writeEvery is how often counts and rates are written.
const writeEvery = 30 * time.Second

// Changed reports whether to write a status. The status is written at once if a condition
// changes, or if a number appears that users wait for. If only texts and numbers change, it is
// written every writeEvery.
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

// transition reports whether a condition, the state of a deletion or the observed generation changed.
func transition(old, computed *v1alpha1.ArchiveGroupStatus) bool {
	if old.ObservedGeneration != computed.ObservedGeneration || len(old.Conditions) != len(computed.Conditions) || !sameDeletions(old.Deletions, computed.Deletions) {
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
