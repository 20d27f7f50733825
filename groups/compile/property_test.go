package compile

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/pvname"
)

// randomGroups returns groups that share many PVs and have all kinds of
// settings.
func randomGroups(rng *rand.Rand, groups, pvs int) []v1alpha1.ArchiveGroup {
	var out []v1alpha1.ArchiveGroup
	for i := range groups {
		spec := v1alpha1.ArchiveGroupSpec{Sampling: randomSampling(rng), ShardBy: randomShardBy(rng), Paused: rng.IntN(5) == 0}
		for _, n := range rng.Perm(pvs)[:rng.IntN(pvs)] {
			ch := v1alpha1.Channel{Name: fmt.Sprintf("SR%02d:X%d", n%7, n)}
			if rng.IntN(4) == 0 {
				ch.Sampling = randomSampling(rng)
			}
			spec.Channels = append(spec.Channels, ch)
		}
		out = append(out, group(fmt.Sprint("g", i), rng.IntN(4), spec))
	}
	return out
}

func randomSampling(rng *rand.Rand) *v1alpha1.Sampling {
	switch rng.IntN(4) {
	case 0:
		return nil
	case 1:
		return &v1alpha1.Sampling{Mode: v1alpha1.Scan, Period: ptr(v1alpha1.Duration(fmt.Sprint(1+rng.IntN(5), "s")))}
	case 2:
		return &v1alpha1.Sampling{Clock: v1alpha1.EngineClock, MaxRate: ptr(float64(rng.IntN(3)))}
	}
	return &v1alpha1.Sampling{Deadband: &v1alpha1.Deadband{Absolute: rng.Float64()}}
}

func randomShardBy(rng *rand.Rand) *v1alpha1.ShardBy {
	switch rng.IntN(3) {
	case 0:
		return &v1alpha1.ShardBy{Group: &v1alpha1.ShardByGroup{}}
	case 1:
		return &v1alpha1.ShardBy{Prefix: &v1alpha1.ShardByPrefix{Regex: "^SR[0-9]+"}}
	}
	return nil
}

func TestOrderOfGroupsDoesNotMatter(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		groups := randomGroups(rng, 8, 100)
		want := Compile(groups, nil, Archive{Shards: 16}, now)
		rng.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		if got := Compile(groups, nil, Archive{Shards: 16}, now); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: the result depends on the order of groups", seed)
		}
	}
}

func TestEveryPVIsInOneShard(t *testing.T) {
	for seed := range uint64(50) {
		groups := randomGroups(rand.New(rand.NewPCG(seed, 1)), 8, 100)
		want := map[string]bool{}
		for _, g := range groups {
			for _, ch := range g.Spec.Channels {
				want[ch.Name] = true
			}
		}
		for shard, list := range Compile(groups, nil, Archive{Shards: 16}, now).Assignment {
			for i, ch := range list {
				if !want[ch.PV] {
					t.Fatalf("seed %d: %s is in shard %d and in another one, or in no group", seed, ch.PV, shard)
				}
				delete(want, ch.PV)
				if i > 0 && list[i-1].PV >= ch.PV {
					t.Fatalf("seed %d: shard %d is not sorted", seed, shard)
				}
			}
		}
		if len(want) > 0 {
			t.Fatalf("seed %d: not captured: %v", seed, want)
		}
	}
}

// TestEditChangesOneShard checks that an edit of one PV changes only one shard, so that it
// writes only one channel list.
func TestEditChangesOneShard(t *testing.T) {
	const shards = 16
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 2))
		groups := randomGroups(rng, 8, 100)
		before := Compile(groups, nil, Archive{Shards: shards}, now)
		oldest := oldestFirst(groups)[0]
		oldest.Spec.Channels = slices.Clone(oldest.Spec.Channels)
		oldest.Spec.Channels = append(oldest.Spec.Channels, v1alpha1.Channel{Name: "NEW:PV", Sampling: randomSampling(rng)})
		after := Compile(groups, nil, Archive{Shards: shards}, now)
		var changed []int
		for shard := range shards {
			if !reflect.DeepEqual(before.Assignment[shard], after.Assignment[shard]) {
				changed = append(changed, shard)
			}
		}
		key, err := shardKey(oldest.Spec.ShardBy, "ns/"+oldest.Name)
		if err != nil {
			t.Fatal(err)
		}
		if want := []int{pvname.Shard(key("NEW:PV"), shards)}; !slices.Equal(changed, want) {
			t.Fatalf("seed %d: shards %v changed, want %v", seed, changed, want)
		}
	}
}
