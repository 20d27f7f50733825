package compile

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/policy"
	"varve.dev/varve/engine/pvname"
)

// TestConflictingSettings checks that the setting that keeps more wins. The age of the groups
// does not matter.
func TestConflictingSettings(t *testing.T) {
	scan := func(period v1alpha1.Duration) *v1alpha1.Sampling {
		return &v1alpha1.Sampling{Mode: v1alpha1.Scan, Period: &period}
	}
	limit := func(ahead v1alpha1.Duration, action v1alpha1.ClockAction) *v1alpha1.Sampling {
		return &v1alpha1.Sampling{ClockLimit: &v1alpha1.ClockLimit{Ahead: &ahead, OnExceeded: action}}
	}
	for _, tc := range []struct {
		name string
		a, b *v1alpha1.Sampling
		want capture.Settings
	}{
		{"Monitor over Scan", &v1alpha1.Sampling{MaxRate: ptr(2.0)}, scan("1s"), base(func(s *capture.Settings) { s.MaxRate = 2 })},
		{"shorter period", scan("1m"), scan("10s"), base(func(s *capture.Settings) { s.Mode, s.Period = capture.Scan, 10*time.Second })},
		{
			"smaller deadband, higher rate",
			&v1alpha1.Sampling{Deadband: &v1alpha1.Deadband{Absolute: 1}, MaxRate: ptr(10.0)},
			&v1alpha1.Sampling{Deadband: &v1alpha1.Deadband{Absolute: 2}, MaxRate: ptr(20.0)},
			base(func(s *capture.Settings) { s.Absolute, s.MaxRate = 1, 20 }),
		},
		{
			"no deadband, no limit of the rate",
			&v1alpha1.Sampling{Deadband: &v1alpha1.Deadband{Absolute: 1, Relative: 0.1}, MaxRate: ptr(10.0)},
			nil,
			base(func(*capture.Settings) {}),
		},
		{
			"a deadband of values that do not change", &v1alpha1.Sampling{Deadband: &v1alpha1.Deadband{Unchanged: true, Heartbeat: ptr(v1alpha1.Duration("1m"))}},
			&v1alpha1.Sampling{Deadband: &v1alpha1.Deadband{Unchanged: true, Heartbeat: ptr(v1alpha1.Duration("1h"))}},
			base(func(s *capture.Settings) { s.Unchanged, s.Heartbeat = true, time.Minute }),
		},
		{
			"a heartbeat", &v1alpha1.Sampling{Deadband: &v1alpha1.Deadband{Unchanged: true, Heartbeat: ptr(v1alpha1.Duration("1m"))}},
			&v1alpha1.Sampling{Deadband: &v1alpha1.Deadband{Unchanged: true}},
			base(func(s *capture.Settings) { s.Unchanged, s.Heartbeat = true, time.Minute }),
		},
		{
			"no deadband needs no heartbeat", &v1alpha1.Sampling{Deadband: &v1alpha1.Deadband{Unchanged: true, Heartbeat: ptr(v1alpha1.Duration("1m"))}},
			&v1alpha1.Sampling{Deadband: &v1alpha1.Deadband{Absolute: 1}},
			base(func(*capture.Settings) {}),
		},
		{"a sample in each shorter interval", &v1alpha1.Sampling{MaxPeriod: ptr(v1alpha1.Duration("1m"))}, &v1alpha1.Sampling{MaxPeriod: ptr(v1alpha1.Duration("10s"))}, base(func(s *capture.Settings) { s.MaxPeriod = 10 * time.Second })},
		{"a sample in each interval", &v1alpha1.Sampling{MaxPeriod: ptr(v1alpha1.Duration("1m"))}, nil, base(func(s *capture.Settings) { s.MaxPeriod = time.Minute })},
		{
			"all events", &v1alpha1.Sampling{Events: []v1alpha1.EventClass{v1alpha1.ValueEvents}}, nil,
			base(func(s *capture.Settings) { s.Events |= capture.EventValue }),
		},
		{"wider clock limit, Restamp", limit("1h", v1alpha1.Refuse), limit("1m", v1alpha1.Restamp), base(func(s *capture.Settings) { s.Ahead = time.Hour })},
		{"no clock limit", limit("0s", v1alpha1.Refuse), limit("1m", v1alpha1.Refuse), base(func(s *capture.Settings) { s.Ahead, s.OnClock = 0, capture.Refuse })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, age := range []int{-1, 1} {
				r := Compile([]v1alpha1.ArchiveGroup{
					group("a", 0, v1alpha1.ArchiveGroupSpec{Sampling: tc.a, Channels: channels("X")}),
					group("b", age, v1alpha1.ArchiveGroupSpec{Sampling: tc.b, Channels: channels("X.VAL")}),
				}, nil, Archive{Shards: 1}, now)
				if diff := cmp.Diff(tc.want, *byPV(r)["X"].Settings); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestConditionsThatDiffer checks that a PV in two groups is captured only while the condition of enabledBy is met
// if both groups have the same condition, and otherwise always.
func TestConditionsThatDiffer(t *testing.T) {
	by := func(pv, when string) *v1alpha1.EnabledBy { return &v1alpha1.EnabledBy{PV: pv, When: when} }
	for _, tc := range []struct {
		a, b *v1alpha1.EnabledBy
		want string
	}{
		{by("SR:BEAM", ""), by("ca://SR:BEAM.VAL", "!= 0"), "ca://SR:BEAM != 0"},
		{by("SR:BEAM", "> 1"), by("SR:BEAM", "> 2"), ""},
		{by("SR:BEAM", "> 1"), by("pva://SR:BEAM", "> 1"), ""},
		{by("SR:BEAM", "> 1"), nil, ""},
		{nil, nil, ""},
	} {
		for _, age := range []int{-1, 1} {
			r := Compile([]v1alpha1.ArchiveGroup{
				group("a", 0, v1alpha1.ArchiveGroupSpec{EnabledBy: tc.a, Channels: channels("X")}),
				group("b", age, v1alpha1.ArchiveGroupSpec{EnabledBy: tc.b, Channels: channels("X")}),
			}, nil, Archive{Shards: 1}, now)
			if got := byPV(r)["X"].Settings.EnabledBy; got != tc.want {
				t.Errorf("%v and %v give %q, not %q", tc.a, tc.b, got, tc.want)
			}
		}
	}
}

// TestConditionsByLevel checks that the condition of a channel replaces that of a rule, and that of a rule replaces that of
// the group.
func TestConditionsByLevel(t *testing.T) {
	by := func(when string) *v1alpha1.EnabledBy { return &v1alpha1.EnabledBy{PV: "E", When: when} }
	r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, v1alpha1.ArchiveGroupSpec{
		EnabledBy: by("> 1"), Rules: []v1alpha1.Rule{{Match: "^R", EnabledBy: by("> 2")}},
		Channels: []v1alpha1.Channel{
			{Name: "A"}, {Name: "R1"}, {Name: "R2", EnabledBy: by("> 3")}, {Name: "P", Provider: v1alpha1.PVAccess},
			{Name: "W", EnabledBy: by("== Open")}, {Name: "N", EnabledBy: &v1alpha1.EnabledBy{PV: "E\tF"}},
		},
	})}, nil, Archive{Shards: 1}, now)
	got := map[string]string{}
	for pv, ch := range byPV(r) {
		got[pv] = ch.Settings.EnabledBy
	}
	want := map[string]string{"A": "ca://E > 1", "R1": "ca://E > 2", "R2": "ca://E > 3", "P": "pva://E > 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if problems := r.Groups["ns/a"].Problems; len(problems) != 2 {
		t.Errorf("the conditions that are none cause %v", problems)
	}
}

// TestValuesOfOthersAreNotShown enables PVs by PVs of other owners. The state of an enabled PV shows the value of the other one to
// everybody who may read the state.
func TestValuesOfOthersAreNotShown(t *testing.T) {
	set := policy.New([]policy.Policy{
		{Name: "rf", Prefixes: []string{"RF:"}, Owners: policy.Owners{ArchiveGroups: []string{"rf"}}},
		{Name: "beam", Prefixes: []string{"BEAM:"}, Owners: policy.Owners{ArchiveGroups: []string{"beam"}}, Readers: policy.Audience{Everybody: true}},
	})
	by := func(pv string) *v1alpha1.EnabledBy { return &v1alpha1.EnabledBy{PV: pv} }
	groups := []v1alpha1.ArchiveGroup{
		group("a", 0, v1alpha1.ArchiveGroupSpec{EnabledBy: by("pva://RF:KEY.VAL"), Channels: []v1alpha1.Channel{
			{Name: "A"}, {Name: "B", EnabledBy: by("BEAM:I")}, {Name: "C", EnabledBy: by("OTHER")}, {Name: "D", Provider: v1alpha1.PVAccess},
		}}),
		group("rf", 0, v1alpha1.ArchiveGroupSpec{EnabledBy: by("RF:KEY"), Channels: channels("RF:X")}),
	}
	r := Compile(groups, nil, Archive{Shards: 1, Policies: set, Planned: set}, now)
	got := map[string]string{}
	for pv, ch := range byPV(r) {
		got[pv] = ch.Settings.EnabledBy
	}
	want := map[string]string{"A": "", "B": "ca://BEAM:I != 0", "C": "ca://OTHER != 0", "D": "", "RF:X": "ca://RF:KEY != 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p := r.Groups["ns/a"].Problems; len(p) != 1 || !strings.Contains(p[0].Message, "enabledBy RF:KEY is ignored, so the PVs are always captured: ArchivePolicy rf") {
		t.Errorf("problems are %v", p)
	}
	if p := r.Groups["ns/rf"].Problems; len(p) > 0 {
		t.Errorf("the owner has the problems %v", p)
	}
}

func TestConflictsAreReportedToBothGroups(t *testing.T) {
	young := group("a", 5, v1alpha1.ArchiveGroupSpec{Channels: channels("X", "Y"), ShardBy: &v1alpha1.ShardBy{Group: &v1alpha1.ShardByGroup{}}})
	old := group("b", 0, v1alpha1.ArchiveGroupSpec{Channels: channels("X", "Z")})
	r := Compile([]v1alpha1.ArchiveGroup{young, old}, nil, Archive{Shards: 64}, now)
	want := []Conflict{{PV: "X", Groups: []string{"ns/b", "ns/a"}}}
	for _, name := range []string{"ns/a", "ns/b"} {
		if diff := cmp.Diff(want, r.Groups[name].Conflicts); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if n := r.Groups[name].Channels; n != 2 {
			t.Errorf("%s counts %d channels", name, n)
		}
	}
	if diff := cmp.Diff("X", r.Assignment[pvname.Shard("X", 64)][0].PV); diff != "" {
		t.Error("the shard is not that of the older group:", diff)
	}
	if got := byPV(r)["X"].Group; got != "ns/b" {
		t.Errorf("group %s decides the settings", got)
	}
}

// TestGroupsOfTheSameAge checks that if two groups have the same age, their names decide,
// because groups in files have no age.
func TestGroupsOfTheSameAge(t *testing.T) {
	one, two := group("one", 0, v1alpha1.ArchiveGroupSpec{Channels: channels("X")}), group("two", 0, v1alpha1.ArchiveGroupSpec{Channels: channels("X")})
	if got := byPV(Compile([]v1alpha1.ArchiveGroup{two, one}, nil, Archive{Shards: 4}, now))["X"].Group; got != "ns/one" {
		t.Errorf("group %s decides the settings", got)
	}
}

// TestPausedConflict checks that pausing a group does not pause the PVs of other groups. Its
// settings do not count while it is paused.
func TestPausedConflict(t *testing.T) {
	r := Compile([]v1alpha1.ArchiveGroup{
		group("paused", 0, v1alpha1.ArchiveGroupSpec{Paused: true, Channels: channels("X")}),
		group("running", 1, v1alpha1.ArchiveGroupSpec{Sampling: &v1alpha1.Sampling{MaxRate: ptr(3.0)}, Channels: channels("X")}),
	}, nil, Archive{Shards: 4}, now)
	got := byPV(r)["X"]
	if got.Settings.Paused || got.Settings.MaxRate != 3 || got.Group != "ns/running" {
		t.Errorf("%+v by %s", *got.Settings, got.Group)
	}
	if n := r.Groups["ns/paused"].Paused; n != 0 {
		t.Errorf("the paused group counts %d paused PVs", n)
	}
}
