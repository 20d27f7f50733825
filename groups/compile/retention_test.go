package compile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/store"
)

// retention returns the retention of an ArchiveGroup. rollups has two values for each rollup:
// its every and its keep. An empty raw or keep means forever.
func retention(raw string, rollups ...string) *v1alpha1.Retention {
	keep := func(d string) *v1alpha1.Duration {
		if d == "" {
			return nil
		}
		return ptr(v1alpha1.Duration(d))
	}
	r := &v1alpha1.Retention{Raw: keep(raw)}
	for i := 0; i < len(rollups); i += 2 {
		r.Rollups = append(r.Rollups, v1alpha1.Rollup{Every: v1alpha1.Duration(rollups[i]), Keep: keep(rollups[i+1])})
	}
	return r
}

// levels returns rollup levels. pairs has two values for each level: its width and its tier.
func levels(pairs ...any) (out [store.MaxLevels]store.Level) {
	for i := 0; i < len(pairs); i += 2 {
		out[i/2] = store.LevelOf(pairs[i].(time.Duration), pairs[i+1].(store.Tier))
	}
	return out
}

func TestRetentionIsRoundedUp(t *testing.T) {
	r := Compile([]v1alpha1.ArchiveGroup{
		group("a", 0, v1alpha1.ArchiveGroupSpec{Retention: retention("45d", "10s", "2y", "5m", "9y", "6h", ""), Channels: []v1alpha1.Channel{
			{Name: "A"}, {Name: "B", Retention: retention("1h")}, {Name: "C", Retention: retention("")}, {Name: "D", Retention: retention("11y")},
		}}),
		group("b", 0, v1alpha1.ArchiveGroupSpec{Channels: []v1alpha1.Channel{{Name: "E", Retention: retention("1h")}}}),
		group("c", 0, v1alpha1.ArchiveGroupSpec{Channels: channels("F")}),
	}, nil, Archive{Shards: 4}, now)
	got := byPV(r)
	for pv, want := range map[string]store.Retention{
		"A": {Raw: store.Keep90d, Levels: levels(10*time.Second, store.Keep2y, 5*time.Minute, store.Keep10y, 6*time.Hour, store.Forever)},
		"B": {Raw: store.Keep1d}, "C": {}, "D": {}, "E": {Raw: store.Keep1d}, "F": {},
	} {
		if diff := cmp.Diff(want, got[pv].Settings.Retention); diff != "" {
			t.Errorf("%s: %s", pv, diff)
		}
	}
	if got["B"].Settings != got["E"].Settings || got["C"].Settings != got["F"].Settings {
		t.Error("PVs with the same retention do not share their settings")
	}
	for name, want := range map[string]bool{"ns/a": true, "ns/b": true, "ns/c": false} {
		if r.Groups[name].Retention != want {
			t.Errorf("group %s limits how long data is kept: %v, want %v", name, !want, want)
		}
	}
}

// TestTheLongerRetentionWins checks that a PV in two groups is kept for the longer time, even
// if one of them is paused.
func TestTheLongerRetentionWins(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b *v1alpha1.Retention
		want store.Retention
	}{
		"raw":       {retention("1d"), retention("30d"), store.Retention{Raw: store.Keep30d}},
		"forever":   {retention("1d"), nil, store.Retention{}},
		"one level": {retention("1d", "10s", "1y"), retention("1d", "10s", "2y"), store.Retention{Raw: store.Keep1d, Levels: levels(10*time.Second, store.Keep2y)}},
		"levels of both groups; a coarser level is kept for at least as long as a finer one": {
			retention("1d", "10s", "10y", "1h", ""), retention("1d", "1m", "1y"),
			store.Retention{Raw: store.Keep1d, Levels: levels(10*time.Second, store.Keep10y, time.Minute, store.Keep10y, time.Hour, store.Forever)},
		},
		"the same width in another unit": {retention("1d", "60s", "1y"), retention("1d", "1m", "1y"), store.Retention{Raw: store.Keep1d, Levels: levels(time.Minute, store.Keep1y)}},
		"too many levels": {
			retention("", "1s", "1d", "4s", "1d", "16s", "1d", "64s", "1d", "256s", "1d", "1024s", "7d", "4096s", "30d", "16384s", ""),
			retention("", "1500ms", "1d", "1100s", "1y"),
			store.Retention{Levels: levels(1*time.Second, store.Keep1d, 4*time.Second, store.Keep1d, 16*time.Second, store.Keep1d,
				64*time.Second, store.Keep1d, 256*time.Second, store.Keep1d, 1024*time.Second, store.Keep1y, 4096*time.Second, store.Keep1y,
				16384*time.Second, store.Forever)},
		},
	} {
		for _, age := range []int{-1, 1} {
			for _, paused := range []bool{false, true} {
				r := Compile([]v1alpha1.ArchiveGroup{
					group("a", 0, v1alpha1.ArchiveGroupSpec{Retention: tc.a, Channels: channels("X"), Paused: paused}),
					group("b", age, v1alpha1.ArchiveGroupSpec{Retention: tc.b, Channels: channels("X")}),
				}, nil, Archive{Shards: 1}, now)
				if diff := cmp.Diff(tc.want, byPV(r)["X"].Settings.Retention); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		}
	}
}

// TestPVsKeptLongerThanRequestedAreCounted checks that a group counts the PVs whose data is
// kept longer than the group requests.
func TestPVsKeptLongerThanRequestedAreCounted(t *testing.T) {
	r := Compile([]v1alpha1.ArchiveGroup{
		group("a", 0, v1alpha1.ArchiveGroupSpec{Retention: retention("1d"), Channels: channels("X", "Y", "Z")}),
		group("b", 1, v1alpha1.ArchiveGroupSpec{Retention: retention("30d"), Channels: channels("X", "Y")}),
	}, nil, Archive{Shards: 4}, now)
	if a, b := r.Groups["ns/a"].KeptLonger, r.Groups["ns/b"].KeptLonger; a != 2 || b != 0 {
		t.Errorf("%d and %d PVs are kept longer, want 2 and 0", a, b)
	}
}

func TestDescribeRetention(t *testing.T) {
	for want, r := range map[string]*v1alpha1.Retention{
		"raw samples are kept forever":                                              nil,
		"raw samples are kept for 90d (requested: 45d)":                             retention("45d"),
		"raw samples are kept for 1y, rollups of 10s for 2y, rollups of 6h forever": retention("365d", "10s", "2y", "6h", ""),
		"raw samples are kept forever (requested: 50y)":                             retention("50y"),
	} {
		if got := Describe(&v1alpha1.ArchiveGroupSpec{Retention: r}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	own := &v1alpha1.ArchiveGroupSpec{Channels: []v1alpha1.Channel{{Name: "A"}, {Name: "B", Retention: retention("1d")}}}
	if got := Describe(own); got != "raw samples are kept forever; channels with their own retention: 1" {
		t.Errorf("the description is %q", got)
	}
}
