package compile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
	"varve.dev/varve/groups/channellist"
)

// big returns 20 groups whose PVs come from other sources.
func big(pvs int) ([]v1alpha1.ArchiveGroup, map[string]Listed) {
	const groups = 20
	var out []v1alpha1.ArchiveGroup
	listed := map[string]Listed{}
	for g := range groups {
		spec := v1alpha1.ArchiveGroupSpec{Sampling: &v1alpha1.Sampling{MaxRate: ptr(float64(g))}}
		if g%4 == 0 {
			spec.ShardBy = &v1alpha1.ShardBy{Prefix: &v1alpha1.ShardByPrefix{Regex: "^SR[0-9]+-[A-Z]+"}}
		}
		var names []string
		for i := range pvs / groups {
			names = append(names, fmt.Sprintf("SR%02d-VA%02d:PRES-%d", i%100, g, i))
		}
		gr := group(fmt.Sprint("g", g), g, spec)
		out = append(out, gr)
		listed["ns/"+gr.Name] = Listed{Names: names}
	}
	return out, listed
}

// lists returns the names of the lists of each shard.
func lists(r Result) map[int][]string {
	out := map[int][]string{}
	for shard, channels := range r.Assignment {
		for _, l := range channellist.Encode(channels) {
			out[shard] = append(out[shard], l.Name)
		}
	}
	return out
}

// TestEditChangesTheListsOfItsShards checks that an edit of 10 out of 50,000 PVs changes only
// the lists of their shards.
func TestEditChangesTheListsOfItsShards(t *testing.T) {
	const shards = 64
	groups, listed := big(50_000)
	before := lists(Compile(groups, listed, Archive{Shards: shards}, now))
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 3))
		edited, want := maps.Clone(listed), map[int]bool{}
		for range 10 {
			g := groups[rng.IntN(len(groups))]
			key, err := shardKey(g.Spec.ShardBy, "ns/"+g.Name)
			if err != nil {
				t.Fatal(err)
			}
			l := edited["ns/"+g.Name]
			l.Names = slices.Clone(l.Names)
			at := rng.IntN(len(l.Names))
			want[pvname.Shard(key(l.Names[at]), shards)] = true
			if rng.IntN(2) == 0 {
				l.Names = slices.Delete(l.Names, at, at+1)
			} else {
				l.Names[at] += "X"
				want[pvname.Shard(key(l.Names[at]), shards)] = true
			}
			edited["ns/"+g.Name] = l
		}
		after := lists(Compile(groups, edited, Archive{Shards: shards}, now))
		for shard := range shards {
			if changed := !slices.Equal(before[shard], after[shard]); changed != want[shard] {
				t.Errorf("seed %d: shard %d changed: %v, want %v", seed, shard, changed, want[shard])
			}
		}
	}
}

func BenchmarkCompile200kPVs(b *testing.B) {
	groups, listed := big(200_000)
	b.ReportAllocs()
	for b.Loop() {
		Compile(groups, listed, Archive{Shards: 64}, now)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200_000, "ns/PV")
}

func BenchmarkEncode200kPVs(b *testing.B) {
	groups, listed := big(200_000)
	r := Compile(groups, listed, Archive{Shards: 64}, now)
	bytes := 0
	b.ReportAllocs()
	for b.Loop() {
		bytes = 0
		for _, channels := range r.Assignment {
			for _, l := range channellist.Encode(channels) {
				bytes += len(l.Data)
			}
		}
	}
	b.ReportMetric(float64(bytes)/200_000, "bytes/PV")
}
