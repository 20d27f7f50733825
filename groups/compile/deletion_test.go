package compile

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
)

// deleted returns a group that is being deleted together with its data.
func deleted(name string, minutes int, spec v1alpha1.ArchiveGroupSpec) v1alpha1.ArchiveGroup {
	spec.DeletionPolicy = v1alpha1.DeleteData
	g := group(name, minutes, spec)
	g.DeletionTimestamp, g.Finalizers = ptr(metav1.NewTime(now)), []string{v1alpha1.DataFinalizer}
	return g
}

// deletions returns the PVs to delete and their groups.
func deletions(r Result) map[string]string {
	out := map[string]string{}
	for _, list := range r.Deletions {
		for _, ch := range list {
			out[ch.PV] = ch.Group
		}
	}
	return out
}

func TestDataOfPVsInNoOtherGroupIsDeleted(t *testing.T) {
	past := ptr(metav1.NewTime(now.Add(-time.Hour)))
	r := Compile([]v1alpha1.ArchiveGroup{
		deleted("old", 0, v1alpha1.ArchiveGroupSpec{Channels: channels("SR:MINE", "SR:CAPTURED", "SR:PAUSED", "SR:EXPIRED", "SR:RETAINED", "SR:BOTH", "SR BAD")}),
		group("living", 1, v1alpha1.ArchiveGroupSpec{Channels: channels("SR:CAPTURED")}),
		group("paused", 1, v1alpha1.ArchiveGroupSpec{Paused: true, Channels: channels("SR:PAUSED")}),
		group("expired", 1, v1alpha1.ArchiveGroupSpec{ExpiresAt: past, Channels: channels("SR:EXPIRED", "SR:BAD NAME")}),
		deleted("also", 2, v1alpha1.ArchiveGroupSpec{Channels: channels("SR:BOTH")}),
	}, map[string]Listed{"ns/old": {Names: []string{"SR:LISTED"}, Problems: []Problem{{Message: "missing"}}}}, Archive{Shards: 8}, now)
	want := map[string]string{"SR:MINE": "ns/old", "SR:LISTED": "ns/old", "SR:BOTH": "ns/old", "SR:RETAINED": "ns/old"}
	if diff := cmp.Diff(want, deletions(r)); diff != "" {
		t.Error(diff)
	}
	got := byPV(r)
	if len(got) != 2 || got["SR:CAPTURED"].Group != "ns/living" || got["SR:PAUSED"].Group != "ns/paused" {
		t.Errorf("captured: %v", got)
	}
	if n, m := r.Groups["ns/old"].Deleting, r.Groups["ns/also"].Deleting; n != 4 || m != 1 {
		t.Errorf("%d and %d PVs are counted as being deleted", n, m)
	}
	if g := r.Groups["ns/living"]; len(g.Conflicts) != 0 || g.Channels != 1 {
		t.Errorf("the remaining group: %+v", g)
	}
	if diff := cmp.Diff(&Group{Expired: true}, r.Groups["ns/expired"]); diff != "" {
		t.Error(diff)
	}
}

// TestDataIsDeletedOnlyOnRequest checks that data is kept if the group lacks the finalizer,
// and with policy Retain.
func TestDataIsDeletedOnlyOnRequest(t *testing.T) {
	spec := v1alpha1.ArchiveGroupSpec{Channels: channels("SR:A", "SR:B")}
	retained := deleted("a", 0, spec)
	retained.Spec.DeletionPolicy = v1alpha1.RetainData
	unfinalized := deleted("b", 0, spec)
	unfinalized.Finalizers = []string{"example.com/other"}
	living := deleted("c", 0, spec)
	living.DeletionTimestamp = nil
	for _, g := range []v1alpha1.ArchiveGroup{retained, unfinalized} {
		r := Compile([]v1alpha1.ArchiveGroup{g}, nil, Archive{Shards: 4}, now)
		if len(r.Deletions) != 0 || len(byPV(r)) != 0 {
			t.Errorf("%s: deleted %v, captured %v", g.Name, deletions(r), byPV(r))
		}
		if diff := cmp.Diff(&Group{}, r.Groups["ns/"+g.Name]); diff != "" {
			t.Error(diff)
		}
	}
	if r := Compile([]v1alpha1.ArchiveGroup{living}, nil, Archive{Shards: 4}, now); len(r.Deletions) != 0 || len(byPV(r)) != 2 {
		t.Errorf("a group that is not being deleted: deleted %v", deletions(r))
	}
}

// TestTheShardThatCapturedAPVDeletesItsData checks that the shard that captured a PV also
// deletes its data.
func TestTheShardThatCapturedAPVDeletesItsData(t *testing.T) {
	const shards = 16
	spec := v1alpha1.ArchiveGroupSpec{
		ShardBy:  &v1alpha1.ShardBy{Prefix: &v1alpha1.ShardByPrefix{Regex: "^[^:]+"}},
		Channels: channels("SR01:B", "SR01:A", "SR02:A"),
	}
	before := Compile([]v1alpha1.ArchiveGroup{group("a", 0, spec)}, nil, Archive{Shards: shards}, now)
	after := Compile([]v1alpha1.ArchiveGroup{deleted("a", 0, spec)}, nil, Archive{Shards: shards}, now)
	for shard := range shards {
		var had, deletes []string
		for _, ch := range before.Assignment[shard] {
			had = append(had, ch.PV)
		}
		for _, ch := range after.Deletions[shard] {
			deletes = append(deletes, ch.PV)
		}
		if !slices.Equal(had, deletes) {
			t.Errorf("shard %d had %q and deletes %q", shard, had, deletes)
		}
	}
	if n := len(after.Deletions[pvname.Shard("SR01", shards)]); n < 2 {
		t.Errorf("%d PVs in the shard of their prefix", n)
	}
}
