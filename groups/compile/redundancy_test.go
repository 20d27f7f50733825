package compile

import (
	"strings"
	"testing"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
)

// shardsOf returns the shard that each PV is captured in.
func shardsOf(r Result) map[string]int {
	out := map[string]int{}
	for shard, list := range r.Assignment {
		for _, ch := range list {
			out[ch.PV] = shard
		}
	}
	return out
}

// TestRedundantPVsHaveShardsOfTheirOwn checks that PVs that two engines capture are in
// separate shards, at the same position as without redundancy: by shardBy of the oldest group.
func TestRedundantPVsHaveShardsOfTheirOwn(t *testing.T) {
	archive := Archive{Shards: 8}
	once, twice := int32(1), int32(2)
	prefix := &v1alpha1.ShardBy{Prefix: &v1alpha1.ShardByPrefix{Regex: "^P[0-9]"}}
	r := Compile([]v1alpha1.ArchiveGroup{
		group("once", 0, v1alpha1.ArchiveGroupSpec{Channels: append(channels("A", "BOTH"), v1alpha1.Channel{Name: "OWN", Redundancy: &twice})}),
		group("twice", 1, v1alpha1.ArchiveGroupSpec{
			Redundancy: 2, Channels: append(channels("B", "BOTH"), v1alpha1.Channel{Name: "LESS", Redundancy: &once}),
		}),
		group("prefix", 2, v1alpha1.ArchiveGroupSpec{Redundancy: 2, ShardBy: prefix, Channels: channels("P1:A", "P1:B")}),
		group("paused", 3, v1alpha1.ArchiveGroupSpec{Redundancy: 2, Paused: true, Channels: channels("A")}),
	}, nil, archive, now)
	got := shardsOf(r)
	for pv, n := range map[string]int32{"A": 1, "BOTH": 2, "OWN": 2, "B": 2, "LESS": 1, "P1:A": 2, "P1:B": 2} {
		key := pv
		if strings.HasPrefix(pv, "P1") {
			key = "P1"
		}
		if want := pvname.Shard(key, 8) + int(n-1)*8; got[pv] != want {
			t.Errorf("%s is in shard %d, want %d", pv, got[pv], want)
		}
		if replicas := archive.Replicas(got[pv]); replicas != int(n) {
			t.Errorf("%s is captured by %d engines, want %d", pv, replicas, n)
		}
	}
	if n := r.Groups["ns/once"].Redundant; n != 2 {
		t.Errorf("%d PVs of the first group count as redundant, want 2", n)
	}
	if n := r.Groups["ns/twice"].Redundant; n != 2 {
		t.Errorf("%d PVs of the second group count as redundant, want 2", n)
	}
}

// TestShardsWithoutRedundancy checks that without redundant PVs there are no additional
// shards.
func TestShardsWithoutRedundancy(t *testing.T) {
	r := Compile([]v1alpha1.ArchiveGroup{group("a", 0, v1alpha1.ArchiveGroupSpec{Channels: channels("A")})}, nil, Archive{Shards: 8}, now)
	if len(r.Assignment) != 8 {
		t.Errorf("there are %d shards, want 8", len(r.Assignment))
	}
}

// TestRedundancyHasNoEffectWithOneEngine checks that a single engine captures each PV once,
// and that the group gets a problem.
func TestRedundancyHasNoEffectWithOneEngine(t *testing.T) {
	twice := int32(2)
	r := Compile([]v1alpha1.ArchiveGroup{
		group("group", 0, v1alpha1.ArchiveGroupSpec{Redundancy: 2, Channels: channels("A")}),
		group("channel", 1, v1alpha1.ArchiveGroupSpec{Channels: []v1alpha1.Channel{{Name: "B", Redundancy: &twice}, {Name: "C"}}}),
		group("none", 2, v1alpha1.ArchiveGroupSpec{Channels: channels("D")}),
	}, nil, Archive{Shards: 8, Alone: true}, now)
	for pv, shard := range shardsOf(r) {
		if shard != pvname.Shard(pv, 8) {
			t.Errorf("%s is in shard %d", pv, shard)
		}
	}
	for name, problems := range map[string]int{"ns/group": 1, "ns/channel": 1, "ns/none": 0} {
		g := r.Groups[name]
		if len(g.Problems) != problems || problems > 0 && !strings.Contains(g.Problems[0].Message, "redundancy 2 has no effect") || g.Redundant != 0 {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

// TestDeletionOfRedundantPVs checks that the shard that sealed the data deletes it.
func TestDeletionOfRedundantPVs(t *testing.T) {
	r := Compile([]v1alpha1.ArchiveGroup{
		deleted("g", 0, v1alpha1.ArchiveGroupSpec{Redundancy: 2, Channels: channels("A")}),
	}, nil, Archive{Shards: 8}, now)
	if shard := pvname.Shard("A", 8) + 8; len(r.Deletions[shard]) != 1 {
		t.Errorf("deletions are %v, want some in shard %d", r.Deletions, shard)
	}
}
