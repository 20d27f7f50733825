package compile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
)

// TestPrecedenceOfProviders checks that the prefix of a name takes precedence over the
// channel's provider, then the group's, then the archive's.
func TestPrecedenceOfProviders(t *testing.T) {
	const ca, pva = v1alpha1.ChannelAccess, v1alpha1.PVAccess
	for _, tc := range []struct {
		name           string
		channel, group v1alpha1.Provider
		archive, want  capture.Provider
	}{
		{"X", "", "", capture.CA, capture.CA},
		{"X", "", "", capture.PVA, capture.PVA},
		{"X", "", ca, capture.PVA, capture.CA},
		{"X", "", pva, capture.CA, capture.PVA},
		{"X", pva, ca, capture.CA, capture.PVA},
		{"X", ca, pva, capture.PVA, capture.CA},
		{"pva://X.VAL", "", ca, capture.CA, capture.PVA},
		{"ca://X", "", pva, capture.PVA, capture.CA},
	} {
		inline := v1alpha1.ArchiveGroupSpec{Provider: tc.group, Channels: []v1alpha1.Channel{{Name: tc.name, Provider: tc.channel}}}
		r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, inline)}, nil, Archive{Shards: 4, Provider: tc.archive}, now)
		if got := byPV(r)["X"]; got.Settings == nil || got.Settings.Provider != tc.want {
			t.Errorf("%+v: %+v", tc, got.Settings)
		}
		if tc.channel != "" {
			continue
		}
		listed := map[string]Listed{"ns/a": {Names: []string{tc.name}}}
		r = Compile([]v1alpha1.ArchiveGroup{group("a", 0, v1alpha1.ArchiveGroupSpec{Provider: tc.group})}, listed,
			Archive{Shards: 4, Provider: tc.archive}, now)
		if got := byPV(r)["X"]; got.Settings == nil || got.Settings.Provider != tc.want {
			t.Errorf("listed, %+v: %+v", tc, got.Settings)
		}
	}
}

func TestFieldsAndProperties(t *testing.T) {
	r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, v1alpha1.ArchiveGroupSpec{
		Provider: v1alpha1.PVAccess, Fields: []v1alpha1.FieldPath{"value.b", "value.a"},
		Properties: []v1alpha1.Property{"SCAN", "EGU", "DESC", "HIHI", "ZRST"},
		Channels: []v1alpha1.Channel{
			{Name: "A"},
			{Name: "B", Fields: []v1alpha1.FieldPath{"dimension"}, Properties: []v1alpha1.Property{"LOPR"}},
			{Name: "ca://C"},
			{Name: "D", Provider: v1alpha1.ChannelAccess, Fields: []v1alpha1.FieldPath{"x"}},
		},
	})}, map[string]Listed{"ns/a": {Names: []string{"E"}}}, Archive{Shards: 4}, now)
	got := byPV(r)
	for pv, want := range map[string][2]string{
		"A": {"value.a,value.b", "DESC,SCAN"}, "B": {"dimension", ""}, "C": {"", "DESC,SCAN"}, "D": {"", "DESC,SCAN"}, "E": {"value.a,value.b", "DESC,SCAN"},
	} {
		if s := got[pv].Settings; s == nil || s.Fields != want[0] || s.Properties != want[1] {
			t.Errorf("%s: %+v, want fields and properties %q", pv, s, want)
		}
	}
	want := []Problem{{"D", "fields have no effect: the channel is captured by Channel Access"}}
	if diff := cmp.Diff(want, r.Groups["ns/a"].Problems); diff != "" {
		t.Error(diff)
	}
}

func TestFieldsWithoutEffectAreReported(t *testing.T) {
	r := Compile([]v1alpha1.ArchiveGroup{
		group("a", 0, v1alpha1.ArchiveGroupSpec{Fields: []v1alpha1.FieldPath{"value"}, Channels: channels("A")}),
		group("b", 0, v1alpha1.ArchiveGroupSpec{Fields: []v1alpha1.FieldPath{"value"}, Channels: channels("B", "pva://C")}),
		group("c", 0, v1alpha1.ArchiveGroupSpec{Fields: []v1alpha1.FieldPath{"value"}}),
	}, nil, Archive{Shards: 4}, now)
	want := []Problem{{"", "fields have no effect: no channel of the group is captured by pvAccess"}}
	if diff := cmp.Diff(want, r.Groups["ns/a"].Problems); diff != "" {
		t.Error(diff)
	}
	if n := len(r.Groups["ns/b"].Problems) + len(r.Groups["ns/c"].Problems); n != 0 || r.Groups["ns/a"].Channels != 1 {
		t.Errorf("the group has %d further problems and %d channels", n, r.Groups["ns/a"].Channels)
	}
}

// TestGroupsWithDifferentProviders checks that if groups request different providers for a PV,
// the oldest group that is not paused decides.
func TestGroupsWithDifferentProviders(t *testing.T) {
	old := group("old", 0, v1alpha1.ArchiveGroupSpec{
		Provider: v1alpha1.PVAccess, Fields: []v1alpha1.FieldPath{"value"}, Properties: []v1alpha1.Property{"SCAN"}, Channels: channels("X", "Y"),
	})
	young := group("young", 5, v1alpha1.ArchiveGroupSpec{Properties: []v1alpha1.Property{"DESC"}, Channels: channels("X", "pva://Y")})
	for _, groups := range [][]v1alpha1.ArchiveGroup{{old, young}, {young, old}} {
		r := Compile(groups, nil, Archive{Shards: 4}, now)
		x, y := byPV(r)["X"].Settings, byPV(r)["Y"].Settings
		if x.Provider != capture.PVA || x.Fields != "value" || x.Properties != "DESC,SCAN" {
			t.Errorf("X: %+v", *x)
		}
		if y.Fields != "" {
			t.Errorf("Y: %+v: the younger group wants all fields", *y)
		}
		names := []string{"ns/old", "ns/young"}
		want := []Conflict{{PV: "X", Groups: names, DifferentProviders: true, Provider: capture.PVA}, {PV: "Y", Groups: names, Provider: capture.PVA}}
		for _, name := range names {
			if diff := cmp.Diff(want, r.Groups[name].Conflicts); diff != "" || r.Groups[name].DifferentProviders != 1 {
				t.Errorf("%s: %d with different providers, %s", name, r.Groups[name].DifferentProviders, diff)
			}
		}
	}
}

func TestAPausedGroupsProviderDoesNotCount(t *testing.T) {
	r := Compile([]v1alpha1.ArchiveGroup{
		group("old", 0, v1alpha1.ArchiveGroupSpec{Paused: true, Provider: v1alpha1.PVAccess, Channels: channels("X")}),
		group("young", 5, v1alpha1.ArchiveGroupSpec{Channels: channels("X")}),
	}, nil, Archive{Shards: 4}, now)
	if x := byPV(r)["X"].Settings; x.Provider != capture.CA {
		t.Errorf("X: %+v", *x)
	}
	if n := r.Groups["ns/young"].DifferentProviders; n != 0 {
		t.Errorf("%d PVs with different providers", n)
	}
}

// TestAPVListedWithTwoProviders checks that if a group's sources list a PV with two providers,
// the first provider is used, and the group gets a problem.
func TestAPVListedWithTwoProviders(t *testing.T) {
	listed := map[string]Listed{"ns/a": {Names: []string{"pva://X", "X", "ca://Y", "Y.VAL", "ca://Z"}}}
	r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, v1alpha1.ArchiveGroupSpec{Channels: channels("pva://Z")})}, listed, Archive{Shards: 4}, now)
	got := byPV(r)
	if got["X"].Settings.Provider != capture.PVA || got["Y"].Settings.Provider != capture.CA || got["Z"].Settings.Provider != capture.PVA {
		t.Errorf("X %+v, Y %+v, Z %+v", *got["X"].Settings, *got["Y"].Settings, *got["Z"].Settings)
	}
	want := []Problem{{"X", "it is listed for both pva and ca; the first entry is used"}}
	if diff := cmp.Diff(want, r.Groups["ns/a"].Problems); diff != "" {
		t.Error(diff)
	}
}

// TestMergedNamesAreBounded checks that the settings of a PV fit into a channel list, however
// many groups name it.
func TestMergedNamesAreBounded(t *testing.T) {
	var groups []v1alpha1.ArchiveGroup
	for i := range 20 {
		spec := v1alpha1.ArchiveGroupSpec{Provider: v1alpha1.PVAccess, Channels: channels("X")}
		for j := range 16 {
			spec.Fields = append(spec.Fields, v1alpha1.FieldPath(fmt.Sprintf("f%02d%02d", i, j)))
			spec.Properties = append(spec.Properties, v1alpha1.Property(fmt.Sprintf("P%02d%02d", i, j)))
		}
		groups = append(groups, group(fmt.Sprintf("g%02d", i), i, spec))
	}
	s := byPV(Compile(groups, nil, Archive{Shards: 1}, now))["X"].Settings
	names := strings.Split(s.Properties, ",")
	if s.Fields != "" || len(names) != maxProperties || !slices.IsSorted(names) || names[0] != "P0000" {
		t.Errorf("fields %q, %d properties", s.Fields, len(names))
	}
}
