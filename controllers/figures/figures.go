// Package figures puts together the counts and rates that a status shows. It is
// pure.
//
//	reports of engines ──Sum──▶ counts, rates, rounded ──Appeared──▶ written at once, or in time
package figures

import (
	"math"
	"strconv"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

// Sum adds up what engines report. Total is the number of channels that there are:
// while a shard moves, two engines may count the same one. Rates stay at old, which
// may be nil, while they are about right.
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
		samples += g.SamplesPerSecond
		bytes += g.BytesPerDay
	}
	for _, n := range []*int32{&counts.Connected, &counts.Disconnected, &counts.NeverConnected, &counts.Silent, &counts.Paused} {
		*n = min(*n, total)
	}
	if old == nil {
		old = &v1alpha1.Rates{}
	}
	return counts, &v1alpha1.Rates{
		SamplesPerSecond: Settle(old.SamplesPerSecond, samples),
		BytesPerDay:      int64(Settle(float64(old.BytesPerDay), bytes)),
	}
}

// Settle returns the old value while it is about right, and the new one to two
// digits otherwise. So noise changes nothing.
func Settle(old, measured float64) float64 {
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

// Figures are a part of a status.
type Figures struct {
	Channels *v1alpha1.ChannelCounts
	Rates    *v1alpha1.Rates
}

// Appeared reports whether figures show what people wait for, and did not before:
// another number of channels, all of them connected, a first rate.
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
