package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/api/v1alpha1"
)

func TestListedNamesAreAddedToInlineNames(t *testing.T) {
	scan := &v1alpha1.Sampling{Mode: v1alpha1.Scan, Period: ptr(v1alpha1.Duration("10s"))}
	r := Compile([]v1alpha1.ArchiveGroup{
		group("a", 0, v1alpha1.ArchiveGroupSpec{Channels: []v1alpha1.Channel{{Name: "SR:B", Sampling: scan}, {Name: "SR:C"}}}),
		group("b", 1, v1alpha1.ArchiveGroupSpec{Sampling: scan}),
	}, map[string]Listed{
		"ns/a": {
			Names:    []string{"SR:D", "SR:B", "SR:A", "ca://SR:A.VAL", "SR:A", "SR X"},
			Problems: []Problem{{Message: `ConfigMap "pvs" is missing`}}, MoreProblems: 5,
		},
		"ns/b": {Names: []string{"SR:E"}},
	}, Archive{Shards: 8}, now)
	got := byPV(r)
	if want := []string{"SR:A", "SR:B", "SR:C", "SR:D", "SR:E"}; !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
		t.Errorf("captured: %v", slices.Sorted(maps.Keys(got)))
	}
	for pv, scans := range map[string]bool{"SR:A": false, "SR:B": true, "SR:C": false, "SR:D": false, "SR:E": true} {
		if (got[pv].Settings.Period != 0) != scans {
			t.Errorf("%s has the settings %+v", pv, *got[pv].Settings)
		}
	}
	a := r.Groups["ns/a"]
	if diff := cmp.Diff([]Problem{{"", `ConfigMap "pvs" is missing`}, {"SR X", "the name has a space or control character at byte 2"}}, a.Problems); diff != "" {
		t.Error(diff)
	}
	if a.Channels != 4 || a.MoreProblems != 5 || len(a.Conflicts) != 0 {
		t.Errorf("%d channels, %d more problems, conflicts %v", a.Channels, a.MoreProblems, a.Conflicts)
	}
}

// TestNamesThatLookLikePatternsAreNoted checks that names with * or ? are noted, wherever they are listed. They are
// captured as they are written.
func TestNamesThatLookLikePatternsAreNoted(t *testing.T) {
	r := Compile([]v1alpha1.ArchiveGroup{
		group("a", 0, v1alpha1.ArchiveGroupSpec{Channels: []v1alpha1.Channel{{Name: "ca://SR*"}, {Name: "SR:B"}}}),
		group("b", 1, v1alpha1.ArchiveGroupSpec{Channels: []v1alpha1.Channel{{Name: "SR:B"}}}),
	}, map[string]Listed{"ns/a": {Names: []string{"X?", "P1*", "P2*", "P3*", "P4*", "P5*"}}}, Archive{Shards: 8}, now)
	a, b := r.Groups["ns/a"], r.Groups["ns/b"]
	if want := []string{"SR*", "X?", "P1*", "P2*", "P3*"}; !slices.Equal(a.Patterns, want) || a.MorePatterns != 2 || a.Channels != 8 {
		t.Errorf("the patterns are %q and %d more, of %d channels", a.Patterns, a.MorePatterns, a.Channels)
	}
	if len(b.Patterns)+b.MorePatterns > 0 {
		t.Errorf("a group without such names has the patterns %q", b.Patterns)
	}
}

func TestChannelsAreCountedByShard(t *testing.T) {
	groups := []v1alpha1.ArchiveGroup{
		group("a", 0, v1alpha1.ArchiveGroupSpec{Channels: channels("A", "B", "C", "D", "E")}),
		group("b", 1, v1alpha1.ArchiveGroupSpec{Channels: channels("A", "X")}),
	}
	r := Compile(groups, nil, Archive{Shards: 4}, now)
	want := map[int]int{}
	for shard, list := range r.Assignment {
		for _, ch := range list {
			if ch.PV != "X" {
				want[shard]++
			}
		}
	}
	if diff := cmp.Diff(want, r.Groups["ns/a"].ByShard); diff != "" {
		t.Error(diff)
	}
}

// TestProblemsAndConflictsAreBounded checks that problems of 200,000 PVs use no more memory
// than problems of a few PVs.
func TestProblemsAndConflictsAreBounded(t *testing.T) {
	const n = 1000
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("SR:%04d", i), fmt.Sprintf("BAD %04d", i))
	}
	r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, v1alpha1.ArchiveGroupSpec{}), group("b", 0, v1alpha1.ArchiveGroupSpec{})},
		map[string]Listed{"ns/a": {Names: names}, "ns/b": {Names: names}}, Archive{Shards: 4}, now)
	for name, g := range r.Groups {
		if len(g.Conflicts) != MaxReported || len(g.Conflicts)+g.MoreConflicts != n || g.Conflicts[0].PV != "SR:0000" {
			t.Errorf("%s: %d conflicts and %d more", name, len(g.Conflicts), g.MoreConflicts)
		}
		if len(g.Problems) != MaxReported || len(g.Problems)+g.MoreProblems != n || !strings.HasPrefix(g.Problems[0].PV, "BAD") {
			t.Errorf("%s: %d problems and %d more", name, len(g.Problems), g.MoreProblems)
		}
	}
}
