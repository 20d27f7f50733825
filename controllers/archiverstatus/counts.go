package archiverstatus

import (
	"math"
	"slices"

	"varve.dev/varve/api/v1alpha1"
)

// counts sums up what engines report. Without any report, figures stay as they
// were while the operator is new; later on, they are gone.
func counts(in *Input) (*v1alpha1.ChannelCounts, *v1alpha1.Rates) {
	channels, rates := &v1alpha1.ChannelCounts{}, &v1alpha1.Rates{}
	reports := 0
	var samples, bytes float64
	for i := range in.Fleet {
		r := in.Fleet[i].Report
		if r == nil {
			continue
		}
		reports++
		for _, g := range r.Groups {
			channels.Connected += int32(g.Connected)
			channels.Disconnected += int32(g.Disconnected)
			channels.NeverConnected += int32(g.NeverConnected)
			channels.Silent += int32(g.Silent)
			channels.Paused += int32(g.Paused)
			samples += g.SamplesPerSecond
			bytes += g.BytesPerDay
		}
	}
	if old := in.Archiver.Status; reports == 0 && !in.Settled && old != nil && old.Channels != nil && old.Rates != nil {
		*channels, *rates = *old.Channels, *old.Rates
	} else {
		rates.SamplesPerSecond, rates.BytesPerDay = rounded(samples), int64(rounded(bytes))
	}
	channels.Total = 0
	for i := range in.Shards {
		channels.Total += in.Shards[i].Spec.Channels
	}
	return channels, rates
}

// rounded keeps two digits, so that noise is not written.
func rounded(x float64) float64 {
	if x <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	if unit < 1 {
		return math.Round(x*(1/unit)) / (1 / unit) // exact decimals: 1/unit is whole
	}
	return math.Round(x/unit) * unit
}

// captured returns the indices of shards that an engine captures that is alive.
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

// uncaptured counts shards that have channels and no engine.
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
