package compile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"varve.dev/varve/engine/capture"
)

// channelsWith returns captured channels with the given settings.
func channelsWith(s *capture.Settings, pvs ...string) (out []capture.Channel) {
	for _, pv := range pvs {
		out = append(out, capture.Channel{PV: pv, Group: "ns/g", Settings: s})
	}
	return out
}

func TestChannelsThatChangeTheirShardAreLeaving(t *testing.T) {
	before, after, paused := &capture.Settings{MaxRate: 1}, &capture.Settings{MaxRate: 2}, &capture.Settings{Paused: true}
	old := map[int][]capture.Channel{
		0: channelsWith(before, "A", "BACK", "GONE", "PAUSES", "STAYS", "Z"),
		1: append(channelsWith(before, "TWICE"), channelsWith(paused, "WAS PAUSED")...),
		2: channelsWith(before, "TWICE", "TWICE"),
	}
	now := map[int][]capture.Channel{
		0: channelsWith(after, "BACK", "STAYS"),
		1: channelsWith(after, "Z"),
		2: append(channelsWith(paused, "PAUSES"), channelsWith(after, "WAS PAUSED")...),
		3: nil,
		9: channelsWith(after, "A", "TWICE"),
	}
	want := map[int]Left{
		0: {Channels: channelsWith(before, "A", "Z"), To: []int32{1, 9}},
		1: {Channels: channelsWith(before, "TWICE"), To: []int32{9}},
		2: {Channels: channelsWith(before, "TWICE"), To: []int32{9}},
	}
	if diff := cmp.Diff(want, Leaving(old, now)); diff != "" {
		t.Error(diff)
	}
	if left := Leaving(now, now); len(left) != 0 {
		t.Errorf("without a change, the channels %v are leaving", left)
	}
}

// TestNoChangeOfGroupsInterruptsCapture checks that after any change of groups, each PV that
// is captured before and after is still in its previous shard, or leaving it.
func TestNoChangeOfGroupsInterruptsCapture(t *testing.T) {
	archive := Archive{Shards: 16}
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		groups := randomGroups(rng, 6, 80)
		before := Compile(groups, nil, archive, now)
		for i := range groups {
			switch rng.IntN(4) {
			case 0:
				groups[i].Spec.Redundancy = 1 + int32(rng.IntN(2))
			case 1:
				groups[i].Spec.ShardBy = randomShardBy(rng)
			case 2:
				groups[i].Spec.Channels = nil
			}
		}
		after := Compile(groups, nil, archive, now)
		left := Leaving(before.Assignment, after.Assignment)
		shards := shardsOf(after)
		for shard, channels := range before.Assignment {
			continues := map[string]bool{}
			for _, ch := range slices.Concat(after.Assignment[shard], left[shard].Channels) {
				if continues[ch.PV] {
					t.Fatalf("seed %d: shard %d has %s twice", seed, shard, ch.PV)
				}
				continues[ch.PV] = true
			}
			for _, ch := range channels {
				to, wanted := shards[ch.PV]
				pauses := ch.Settings.Paused || wanted && byPV(after)[ch.PV].Settings.Paused
				if want := wanted && (!pauses || to == shard); continues[ch.PV] != want {
					t.Fatalf("seed %d: shard %d continues to capture %s: %v, want %v", seed, shard, ch.PV, continues[ch.PV], want)
				}
				if continues[ch.PV] && to != shard && !slices.Contains(left[shard].To, int32(to)) {
					t.Fatalf("seed %d: shard %d has leaving channels, but does not wait for their new shard %d", seed, shard, to)
				}
			}
		}
	}
}

// BenchmarkLeaving finds the leaving channels of a large archive. This must be fast.
func BenchmarkLeaving(b *testing.B) {
	const shards, each = 4096, 250
	all := map[int][]capture.Channel{}
	for shard := range shards {
		for i := range each {
			all[shard] = append(all[shard], channelsWith(&capture.Settings{}, fmt.Sprintf("SR%04d:X%05d", shard, i))...)
		}
	}
	old, after := map[int][]capture.Channel{}, maps.Clone(all)
	for shard := range 10 {
		old[shard], after[shard] = all[shard], all[shard][1:]
	}
	after[100] = append(channelsWith(&capture.Settings{}, "SR0000:X00000"), after[100]...)
	for b.Loop() {
		if len(Leaving(old, after)) != 1 {
			b.Fatal("the shards with leaving channels are wrong: only one PV has changed its shard")
		}
	}
	b.ReportMetric(shards*each, "PVs")
}
