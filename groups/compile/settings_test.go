package compile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
)

func ptr[T any](v T) *T { return &v }

// base returns the default settings, changed by change.
func base(change func(*capture.Settings)) capture.Settings {
	s := capture.Settings{Events: capture.EventLog | capture.EventAlarm, Ahead: 5 * time.Minute, Behind: 24 * time.Hour}
	change(&s)
	return s
}

func TestChannelOverridesGroup(t *testing.T) {
	monitor := &v1alpha1.Sampling{
		Deadband: &v1alpha1.Deadband{Absolute: 0.5}, MaxRate: ptr(100.0), Events: []v1alpha1.EventClass{v1alpha1.ValueEvents},
	}
	scan := &v1alpha1.Sampling{Mode: v1alpha1.Scan, Period: ptr(v1alpha1.Duration("1s"))}
	for _, tc := range []struct {
		name           string
		group, channel *v1alpha1.Sampling
		want           capture.Settings
	}{
		{"nothing", monitor, &v1alpha1.Sampling{}, base(func(s *capture.Settings) {
			s.Events, s.Absolute, s.MaxRate = capture.EventValue, 0.5, 100
		})},
		{"only the rate", monitor, &v1alpha1.Sampling{MaxRate: ptr(0.0)}, base(func(s *capture.Settings) {
			s.Events, s.Absolute = capture.EventValue, 0.5
		})},
		{"the deadband as a whole", monitor, &v1alpha1.Sampling{Deadband: &v1alpha1.Deadband{Relative: 0.1}}, base(func(s *capture.Settings) {
			s.Events, s.Relative, s.MaxRate = capture.EventValue, 0.1, 100
		})},
		{"scan overrides monitor and removes the filters", monitor, scan, base(func(s *capture.Settings) {
			s.Events, s.Mode, s.Period = capture.EventValue, capture.Scan, time.Second
		})},
		{"monitor overrides scan and removes the period", scan, &v1alpha1.Sampling{Mode: v1alpha1.Monitor}, base(func(*capture.Settings) {})},
		{"a group without settings", nil, scan, base(func(s *capture.Settings) {
			s.Mode, s.Period = capture.Scan, time.Second
		})},
		{"another clock removes the clock limits", monitor, &v1alpha1.Sampling{Clock: v1alpha1.EngineClock}, capture.Settings{
			Events: capture.EventValue, Absolute: 0.5, MaxRate: 100, Clock: capture.EngineClock,
		}},
		{"clock limits", scan, &v1alpha1.Sampling{ClockLimit: &v1alpha1.ClockLimit{
			Ahead: ptr(v1alpha1.Duration("0s")), OnExceeded: v1alpha1.Refuse,
		}}, base(func(s *capture.Settings) {
			s.Mode, s.Period, s.Ahead, s.OnClock = capture.Scan, time.Second, 0, capture.Refuse
		})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, v1alpha1.ArchiveGroupSpec{
				Sampling: tc.group, Channels: []v1alpha1.Channel{{Name: "X", Sampling: tc.channel}},
			})}, nil, Archive{Shards: 1}, now)
			if diff := cmp.Diff(tc.want, *byPV(r)["X"].Settings); diff != "" {
				t.Errorf("the settings differ (-want +got):\n%s", diff)
			}
		})
	}
}
