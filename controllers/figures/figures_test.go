package figures

import (
	"math"
	"testing"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

func TestSumIsLimitedByTotal(t *testing.T) {
	two := []report.Group{
		{Connected: 7, Disconnected: 1, SamplesPerSecond: 123.4, BytesPerDay: 1e6},
		{Connected: 5, NeverConnected: 2, Silent: 1, Paused: 3, SamplesPerSecond: 1000},
	}
	counts, rates := Sum(two, 10, nil)
	if want := (v1alpha1.ChannelCounts{Total: 10, Connected: 10, Disconnected: 1, NeverConnected: 2, Silent: 1, Paused: 3}); *counts != want {
		t.Errorf("counts: got %+v, want %+v", *counts, want)
	}
	if want := (v1alpha1.Rates{SamplesPerSecond: 1100, BytesPerDay: 1000000}); *rates != want {
		t.Errorf("rates: got %+v, want %+v", *rates, want)
	}
}

func TestSmoothIgnoresNoise(t *testing.T) {
	for _, c := range []struct{ old, measured, want float64 }{
		{0, 0, 0},
		{0, 1234, 1200},
		{1200, 1250, 1200}, // noise
		{1200, 1300, 1300},
		{1200, 0, 0},
		{0, 0.01234, 0.012},
		{0, -1, 0},
		{0, 9.96, 10},
		{0, 0.1 + 0.2, 0.3},
		{5, math.NaN(), 0},
		{5, math.Inf(1), 0},
	} {
		if got := Smooth(c.old, c.measured); got != c.want {
			t.Errorf("Smooth(%v, %v): got %v, want %v", c.old, c.measured, got, c.want)
		}
	}
}

func TestAppearedReportsExpectedFigures(t *testing.T) {
	figures := func(total, connected int32, rate float64) Figures {
		return Figures{&v1alpha1.ChannelCounts{Total: total, Connected: connected}, &v1alpha1.Rates{SamplesPerSecond: rate}}
	}
	for _, c := range []struct {
		name     string
		old, now Figures
		want     bool
	}{
		{"the first", Figures{}, figures(10, 0, 0), true},
		{"more channels", figures(10, 5, 1), figures(11, 5, 1), true},
		{"some connected", figures(10, 5, 1), figures(10, 9, 1), false},
		{"all connected", figures(10, 5, 1), figures(10, 10, 1), true},
		{"one lost", figures(10, 10, 1), figures(10, 9, 1), false},
		{"first samples", figures(10, 5, 0), figures(10, 5, 1), true},
		{"another rate", figures(10, 5, 1), figures(10, 5, 2), false},
	} {
		if got := Appeared(c.old, c.now); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}
