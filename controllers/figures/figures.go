// Package figures computes the counts and rates of a status. It is pure.
//
//	reports of engines ──Sum──▶ counts, rates, rounded ──Appeared──▶ written at once or later
package figures

import (
	"math"
	"strconv"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

// Sum adds up the reports of engines. The total is the number of channels, which limits the
// sums: while a shard moves, two engines can count the same channel. old can be nil. Rates
// keep their old value while it is approximately right.
func Sum(groups []report.Group, total int32, old *v1alpha1.Rates) (*v1alpha1.ChannelCounts, *v1alpha1.Rates) {
	counts := &v1alpha1.ChannelCounts{Total: total}
	var samples, bytes float64
	for i := range groups {
		g := &groups[i]
		counts.Connected += int32(g.Connected)
		counts.Disconnected += int32(g.Disconnected)
		counts.NeverConnected += int32(g.NeverConnected)
		counts.Silent += int32(g.Silent)
		counts.Paused += int32(g.Paused)
		counts.Disabled += int32(g.Disabled)
		samples += g.SamplesPerSecond
		bytes += g.BytesPerDay
	}
	for _, n := range []*int32{&counts.Connected, &counts.Disconnected, &counts.NeverConnected, &counts.Silent, &counts.Paused, &counts.Disabled} {
		*n = min(*n, total)
	}
	if old == nil {
		old = &v1alpha1.Rates{}
	}
	return counts, &v1alpha1.Rates{
		SamplesPerSecond: Smooth(old.SamplesPerSecond, samples),
		BytesPerDay:      int64(Smooth(float64(old.BytesPerDay), bytes)),
	}
}

// Smooth returns the old value while it is approximately right, otherwise the new value with
// two significant digits. This way, noise does not change a status.
func Smooth(old, measured float64) float64 {
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

// Figures are the counts and rates of a status.
type Figures struct {
	Channels *v1alpha1.ChannelCounts
	Rates    *v1alpha1.Rates
}

// Appeared reports whether the figures show a change that users wait for: a different number
// of channels, all channels connected, or the first rate.
func Appeared(old, now Figures) bool {
	return old.total() != now.total() || !old.connected() && now.connected() || !old.flows() && now.flows()
}

func (f Figures) total() int32 {
	if f.Channels == nil {
		return -1
	}
	return f.Channels.Total
}

func (f Figures) connected() bool {
	return f.Channels != nil && f.Channels.Connected == f.Channels.Total
}

func (f Figures) flows() bool { return f.Rates != nil && f.Rates.SamplesPerSecond > 0 }
