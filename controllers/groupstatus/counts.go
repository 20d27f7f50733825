package groupstatus

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/report"
)

// of returns what the engines report of the group.
func (in Input) of() []report.Group {
	key := in.Group.Namespace + "/" + in.Group.Name
	var out []report.Group
	for _, r := range in.Reports {
		if g, there := r.Groups[key]; there {
			out = append(out, g)
		}
	}
	return out
}

func counts(in Input, old *v1alpha1.ChannelCounts) *v1alpha1.ChannelCounts {
	out := &v1alpha1.ChannelCounts{}
	if in.Starting {
		if old != nil {
			*out = *old
		}
	} else {
		for _, g := range in.of() {
			out.Connected += int32(g.Connected)
			out.Disconnected += int32(g.Disconnected)
			out.NeverConnected += int32(g.NeverConnected)
			out.Silent += int32(g.Silent)
			out.Paused += int32(g.Paused)
		}
	}
	out.Total = int32(in.Compiled.Channels)
	return out
}

func rates(in Input, old *v1alpha1.Rates) *v1alpha1.Rates {
	if old == nil {
		old = &v1alpha1.Rates{}
	}
	var samples, bytes float64
	for _, g := range in.of() {
		samples += g.SamplesPerSecond
		bytes += g.BytesPerDay
	}
	return &v1alpha1.Rates{
		SamplesPerSecond: settle(old.SamplesPerSecond, samples),
		BytesPerDay:      int64(settle(float64(old.BytesPerDay), bytes)),
	}
}

// settle returns the old value while it is about right, and the new one to two
// digits otherwise. So noise changes nothing.
func settle(old, measured float64) float64 {
	const about = 0.05
	switch {
	case math.IsNaN(measured) || math.IsInf(measured, 0) || measured <= 0:
		return 0
	case math.Abs(measured-old) <= about*old:
		return old
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(measured, 'e', 1, 64), 64)
	if err != nil {
		return measured
	}
	return rounded
}

// worst are the channels that have had a problem for longest.
func worst(in Input) []v1alpha1.WorstChannel {
	const most, longestReason, longestMessage = 20, 64, 500
	var all []report.Channel
	for _, g := range in.of() {
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
			continue // two engines while its shard moves
		}
		out = append(out, v1alpha1.WorstChannel{
			Name: ch.PV, Reason: ch.Reason[:min(longestReason, len(ch.Reason))], Message: cut(ch.Message, longestMessage),
		})
	}
	return out
}
