package archiverstatus

import (
	"maps"
	"slices"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/figures"
)

// counts sums up the reports of the engines. If there is no report, it returns the numbers of
// the last status until Input.Synced is set.
func counts(in *Input) (*v1alpha1.ChannelCounts, *v1alpha1.Rates) {
	var groups []report.Group
	reports := 0
	for i := range in.Fleet {
		if r := in.Fleet[i].Report; r != nil {
			reports++
			groups = slices.AppendSeq(groups, maps.Values(r.Groups))
		}
	}
	var total int32
	for i := range in.Shards {
		total += in.Shards[i].Spec.Channels
	}
	var old v1alpha1.ArchiverStatus
	if in.Archiver.Status != nil {
		old = *in.Archiver.Status.DeepCopy()
	}
	if reports == 0 && !in.Synced && old.Channels != nil && old.Rates != nil {
		old.Channels.Total = total
		return old.Channels, old.Rates
	}
	return figures.Sum(groups, total, old.Rates)
}

// captured returns the indices of the shards that a running engine captures.
func captured(in *Input) map[int32]bool {
	alive := map[string]bool{}
	for i := range in.Fleet {
		alive[in.Fleet[i].Name] = !in.Fleet[i].Dead
	}
	shards := map[int32]bool{}
	for i := range in.Shards {
		s := &in.Shards[i]
		if s.Status == nil || s.Spec.Index == nil {
			continue
		}
		if slices.ContainsFunc(s.Status.Engines, func(e v1alpha1.ShardEngineStatus) bool {
			return alive[e.Name] && (e.Phase == v1alpha1.Capturing || e.Phase == v1alpha1.Draining)
		}) {
			shards[*s.Spec.Index] = true
		}
	}
	return shards
}

// total returns the number of shards: spec.shards plus the shards for PVs that two engines
// capture.
func total(in *Input) int { return int(in.Archiver.Spec.Shards) + len(twofold(in, 0)) }

// uncaptured counts the shards that have channels but no engine.
func uncaptured(in *Input) int {
	captured := captured(in)
	n := 0
	for i := range in.Shards {
		if s := &in.Shards[i]; s.Spec.Channels > 0 && s.Spec.Index != nil && !captured[*s.Spec.Index] {
			n++
		}
	}
	return n
}
