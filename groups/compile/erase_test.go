package compile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/policy"
	"varve.dev/varve/engine/pvname"
)

// TestDeletionsOfSamples checks which samples a group may delete, and why not.
func TestDeletionsOfSamples(t *testing.T) {
	to := at(-time.Hour)
	entry := func(d v1alpha1.SampleDeletion) v1alpha1.SampleDeletion {
		if d.To == nil {
			d.To = to
		}
		d.Reason = "bad calibration"
		return d
	}
	vacuum := policy.New([]policy.Policy{{Name: "vacuum", Prefixes: []string{"V:"}, Owners: policy.Owners{ArchiveGroups: []string{"a"}}}})
	for _, tc := range []struct {
		name     string
		deletion v1alpha1.SampleDeletion
		policies *policy.Set
		want     string // the PVs
		problem  string // part of a problem of the group
	}{
		{"a range of two PVs", v1alpha1.SampleDeletion{PVs: []string{"V:A", "ca://B.VAL"}, From: at(-2 * time.Hour)}, nil, "B V:A", ""},
		{"a PV that left the group", v1alpha1.SampleDeletion{PVs: []string{"GONE"}}, nil, "GONE", ""},
		{"a PV that another group names", v1alpha1.SampleDeletion{PVs: []string{"B", "SHARED"}}, nil, "B", "SHARED: deletions[0]: the samples stay, because group ns/b names the PV, too"},
		{"a PV of another group", v1alpha1.SampleDeletion{PVs: []string{"OTHER"}}, nil, "", "OTHER: deletions[0]: the samples stay, because group ns/b names the PV, too"},
		{"all that match", v1alpha1.SampleDeletion{Match: "^V:", Count: ptr(int32(2))}, nil, "V:A V:B", ""},
		{"the wrong number", v1alpha1.SampleDeletion{Match: ".*", Count: ptr(int32(3))}, nil, "", "deletions[0]: nothing is deleted, because 4 PVs match, and count says 3"},
		{"no number", v1alpha1.SampleDeletion{Match: ".*"}, nil, "", "count is required"},
		{"not yet", v1alpha1.SampleDeletion{PVs: []string{"B"}, To: at(time.Hour)}, nil, "", "nothing is deleted before 2027-06-30T01:00:00Z"},
		{"no order", v1alpha1.SampleDeletion{PVs: []string{"B"}, From: at(0)}, nil, "", "to must be after from"},
		{"PVs without an owner", v1alpha1.SampleDeletion{PVs: []string{"V:A", "B"}}, vacuum, "V:A", "B: deletions[0]: the samples stay, because no ArchivePolicy lets this group own the PV"},
		{"PVs of another owner", v1alpha1.SampleDeletion{PVs: []string{"V:A", "V:GONE"}}, policy.New([]policy.Policy{{Name: "vacuum", Prefixes: []string{"V:"}, Owners: policy.Owners{ArchiveGroups: []string{"other"}}}}), "",
			"V:GONE: deletions[0]: the samples stay, because no ArchivePolicy lets this group own the PV"},
	} {
		groups := []v1alpha1.ArchiveGroup{
			group("a", 0, v1alpha1.ArchiveGroupSpec{Channels: channels("V:A", "V:B", "B", "SHARED"), Deletions: []v1alpha1.SampleDeletion{entry(tc.deletion)}}),
			group("b", 1, v1alpha1.ArchiveGroupSpec{Channels: channels("SHARED", "OTHER")}),
		}
		r := Compile(groups, nil, Archive{Shards: 4, Policies: tc.policies}, now)
		got := ""
		for _, e := range r.Erasures {
			got = strings.Join(e.PVs, " ")
			if e.Group != "ns/a" || e.Reason != "bad calibration" || e.To != to.UnixNano()-1 {
				t.Errorf("%s: %+v", tc.name, e)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
		problems := ""
		for _, p := range r.Groups["ns/a"].Problems {
			problems += fmt.Sprintf("%s: %s\n", p.PV, p.Message)
		}
		if (tc.problem == "") != (problems == "") || !strings.Contains(problems, tc.problem) {
			t.Errorf("%s: problems %q, want %q", tc.name, problems, tc.problem)
		}
		if d := r.Groups["ns/a"].Deletions; len(d) != 1 || (d[0].Waiting == "") != (got != "") || d[0].PVs != len(strings.Fields(got)) || (d[0].Hash != 0) != (got != "") {
			t.Errorf("%s: the outcome is %+v", tc.name, d)
		}
		if tc.name == "not yet" && !r.NextExpiry.Equal(now.Add(time.Hour)) {
			t.Errorf("the result changes next at %v", r.NextExpiry)
		}
	}
}

// TestDeletionsKeepSamplesOfOthers checks that a group deletes nothing that another group has, or may have.
func TestDeletionsKeepSamplesOfOthers(t *testing.T) {
	expired := group("b", 1, v1alpha1.ArchiveGroupSpec{Channels: channels("X"), ExpiresAt: at(-2 * time.Hour)})
	shared := namedGroup("b", 1, "NEW")
	for _, tc := range []struct {
		name    string
		own     string // a channel of the group that deletes X
		other   v1alpha1.ArchiveGroup
		listed  Listed // of the other group
		archive Archive
		want    string // the PVs
		problem string
	}{
		{"no other group has it", "A", namedGroup("b", 1, "B"), Listed{}, Archive{}, "X", ""},
		{"an expired group", "A", expired, Listed{}, Archive{}, "", "the samples stay, because group ns/b names the PV, too"},
		{"names that are not known yet", "A", namedGroup("b", 1), Listed{Incomplete: true}, Archive{}, "",
			"nothing is deleted until the PVs of all groups are known: a source of group ns/b has no content yet"},
		{"a manifest that cannot be read", "A", namedGroup("b", 1), Listed{}, Archive{Incomplete: true}, "", "a manifest cannot be read"},
		{"a former name", "A", namedGroup("b", 1, "NEW<X"), Listed{}, Archive{}, "", "it is a former name of NEW in group ns/b"},
		{"a former name of a former name", "A", namedGroup("b", 1, "NEW<OLD", "OLD<X"), Listed{}, Archive{}, "", "it is a former name of OLD in group ns/b"},
		{"its own former name", "NEW<X", namedGroup("b", 1, "B"), Listed{}, Archive{}, "X", ""},
		{"a former name of a PV that both have", "NEW<X", shared, Listed{}, Archive{}, "", "it is a former name of NEW in group ns/b"},
	} {
		a := namedGroup("a", 0, tc.own)
		a.Spec.Deletions = []v1alpha1.SampleDeletion{{PVs: []string{"X"}, To: at(-time.Hour), Reason: "test"}}
		tc.archive.Shards = 4
		r := Compile([]v1alpha1.ArchiveGroup{a, tc.other}, map[string]Listed{"ns/b": tc.listed}, tc.archive, now)
		got, problems := "", ""
		for _, e := range r.Erasures {
			got += strings.Join(e.PVs, " ")
		}
		for _, p := range r.Groups["ns/a"].Problems {
			problems += p.Message + "\n"
		}
		if got != tc.want || (tc.problem == "") != (problems == "") || !strings.Contains(problems, tc.problem) {
			t.Errorf("%s: deletes %q with problems %q; want %q with %q", tc.name, got, problems, tc.want, tc.problem)
		}
	}
}

// TestADeletionIsForTheShardsOfItsPVs checks which shard deletes the samples of a PV: the one that captures it, or the home shard
// of a PV that no shard captures.
func TestADeletionIsForTheShardsOfItsPVs(t *testing.T) {
	const shards = 4
	a := group("a", 0, v1alpha1.ArchiveGroupSpec{
		Channels: channels("A", "B", "C", "PAUSED"), ShardBy: &v1alpha1.ShardBy{Group: &v1alpha1.ShardByGroup{}},
		Deletions: []v1alpha1.SampleDeletion{{PVs: []string{"A", "B", "PAUSED", "GONE", "EXPIRED"}, To: at(-time.Hour), Reason: "test"}},
	})
	a.Spec.Channels[1].Redundancy, a.Spec.Channels[3].Paused = ptr(int32(2)), ptr(true)
	r := Compile([]v1alpha1.ArchiveGroup{a}, nil, Archive{Shards: shards}, now)
	want := map[string]int{"GONE": pvname.Shard("GONE", shards), "EXPIRED": pvname.Shard("EXPIRED", shards)}
	for shard, channels := range r.Assignment {
		for i := range channels {
			if pv := channels[i].PV; pv != "C" {
				want[pv] = shard
			}
		}
	}
	got := map[string]int{}
	for shard, pvs := range r.Erasures[0].ByShard {
		for _, pv := range pvs {
			got[pv] = shard
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || got["B"] < shards {
		t.Errorf("shards: %s", diff)
	}
}
