package compile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/policy"
)

// vacuumOwned is an archive in which only the group vacuum owns the PVs SR:VAC:.
func vacuumOwned() Archive {
	set := policy.New([]policy.Policy{{Name: "vac", Prefixes: []string{"SR:VAC:"}, Owners: policy.Owners{ArchiveGroups: []string{"vacuum"}}}})
	return Archive{Shards: 8, Policies: set, Planned: set}
}

func TestAGroupCannotArchivePVsThatItDoesNotOwn(t *testing.T) {
	short := retention("1d")
	groups := []v1alpha1.ArchiveGroup{
		group("thief", 0, v1alpha1.ArchiveGroupSpec{Retention: short, Channels: channels("SR:VAC:P", "ca://SR:VAC:NONE.VAL", "SR:VAC:P.DESC", "SR:MAG:I")}),
		group("vacuum", 1, v1alpha1.ArchiveGroupSpec{Channels: channels("SR:VAC:P")}),
	}
	r := Compile(groups, map[string]Listed{"ns/thief": {Names: []string{"SR:VAC:LISTED"}}}, vacuumOwned(), now)
	got := byPV(r)
	if len(got) != 2 || got["SR:VAC:P"].Group != "ns/vacuum" || got["SR:MAG:I"].Group != "ns/thief" {
		t.Errorf("captured: %v", got)
	}
	if got["SR:VAC:P"].Settings.Retention != (byPV(Compile(groups[1:], nil, vacuumOwned(), now)))["SR:VAC:P"].Settings.Retention {
		t.Error("the retention of a group that does not own the PV counts")
	}
	// The group learns the same of a PV that the owner archives, and of one that does not exist.
	const text = "ArchivePolicy vac does not let this group archive it"
	want := []Problem{{"SR:VAC:LISTED", text}, {"SR:VAC:NONE", text}, {"SR:VAC:P", text}, {"SR:VAC:P.DESC", text}}
	thief := r.Groups["ns/thief"]
	if diff := cmp.Diff(want, thief.Problems); diff != "" {
		t.Error(diff)
	}
	if thief.NotOwned != 4 || thief.Channels != 1 || len(thief.Conflicts) != 0 {
		t.Errorf("the group has the result %+v", thief)
	}
	if owner := r.Groups["ns/vacuum"]; owner.NotOwned != 0 || len(owner.Problems)+len(owner.Conflicts) != 0 || owner.KeptLonger != 0 {
		t.Errorf("the owner has the result %+v", owner)
	}
	if diff := cmp.Diff(map[string]*PolicyOutcome{"vac": {Channels: 1, Refused: map[string]int{"ns/thief": 4}}}, r.Policies); diff != "" {
		t.Error(diff)
	}
}

// TestARefusedGroupStillKeepsData enforces a policy that refuses a group with a longer retention than the owner's.
func TestARefusedGroupStillKeepsData(t *testing.T) {
	groups := []v1alpha1.ArchiveGroup{
		group("old", 0, v1alpha1.ArchiveGroupSpec{Retention: retention("10y"), Channels: channels("SR:VAC:P")}),
		group("vacuum", 1, v1alpha1.ArchiveGroupSpec{Retention: retention("30d"), Channels: channels("SR:VAC:P")}),
	}
	before := byPV(Compile(groups, nil, Archive{Shards: 8}, now))["SR:VAC:P"].Settings.Retention
	r := Compile(groups, nil, vacuumOwned(), now)
	after := byPV(r)["SR:VAC:P"]
	if after.Settings.Retention != before || after.Group != "ns/vacuum" {
		t.Errorf("with the policy, group %s archives the PV for %v; want vacuum, and %v as before", after.Group, after.Settings.Retention, before)
	}
	if owner := r.Groups["ns/vacuum"]; owner.KeptLonger != 0 {
		t.Errorf("the owner has the result %+v, which shows the refused group", owner)
	}
}

// TestAGroupCannotEraseWhatItDoesNotOwn deletes groups together with their data, while the owner archives the PVs and
// after that.
func TestAGroupCannotEraseWhatItDoesNotOwn(t *testing.T) {
	spec := v1alpha1.ArchiveGroupSpec{Channels: channels("SR:VAC:P", "SR:VAC:OLD", "SR:MAG:I")}
	thief := deleted("thief", 0, spec)
	living := group("vacuum", 1, v1alpha1.ArchiveGroupSpec{Channels: channels("SR:VAC:P")})
	for name, groups := range map[string][]v1alpha1.ArchiveGroup{"the owner archives": {thief, living}, "nobody archives": {thief}} {
		r := Compile(groups, nil, vacuumOwned(), now)
		if got := deletions(r); len(got) != 0 {
			t.Errorf("%s: deleted %v", name, got)
		}
		if g := r.Groups["ns/thief"]; g.Kept != 3 || g.Deleting != 0 { // no policy lets the group own SR:MAG:I
			t.Errorf("%s: the group has the result %+v", name, g)
		}
	}
	r := Compile([]v1alpha1.ArchiveGroup{deleted("vacuum", 0, spec)}, nil, vacuumOwned(), now)
	if diff := cmp.Diff(map[string]string{"SR:VAC:P": "ns/vacuum", "SR:VAC:OLD": "ns/vacuum"}, deletions(r)); diff != "" {
		t.Error(diff)
	}
}

// TestAnExpiredGroupCannotKeepWhatItDoesNotOwn checks that the owner can delete its data.
func TestAnExpiredGroupCannotKeepWhatItDoesNotOwn(t *testing.T) {
	past := metav1.NewTime(now.Add(-time.Hour))
	r := Compile([]v1alpha1.ArchiveGroup{
		deleted("vacuum", 0, v1alpha1.ArchiveGroupSpec{Channels: channels("SR:VAC:P")}),
		group("other", 1, v1alpha1.ArchiveGroupSpec{ExpiresAt: &past, Channels: channels("SR:VAC:P")}),
	}, nil, vacuumOwned(), now)
	if diff := cmp.Diff(map[string]string{"SR:VAC:P": "ns/vacuum"}, deletions(r)); diff != "" {
		t.Error(diff)
	}
}

// TestAPolicyThatOnlyWarnsRefusesNothing checks that its outcome says what it would refuse.
func TestAPolicyThatOnlyWarnsRefusesNothing(t *testing.T) {
	archive := vacuumOwned()
	archive.Policies = policy.New(nil)
	r := Compile([]v1alpha1.ArchiveGroup{group("thief", 0, v1alpha1.ArchiveGroupSpec{Channels: channels("SR:VAC:P", "SR:VAC:Q")})}, nil, archive, now)
	if got := byPV(r); len(got) != 2 || len(r.Groups["ns/thief"].Problems) != 0 {
		t.Errorf("captured: %v, problems: %v", got, r.Groups["ns/thief"].Problems)
	}
	if diff := cmp.Diff(map[string]*PolicyOutcome{"vac": {Channels: 2, Refused: map[string]int{"ns/thief": 2}}}, r.Policies); diff != "" {
		t.Error(diff)
	}
}
