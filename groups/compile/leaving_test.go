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

// of returns channels with the given settings.
func of(s *capture.Settings, pvs ...string) (out []capture.Channel) {
	for _, pv := range pvs {
		out = append(out, capture.Channel{PV: pv, Group: "ns/g", Settings: s})
	}
	return out
}

func TestChannelsThatChangeTheirShardAreLeaving(t *testing.T) {
	was, is, paused := &capture.Settings{MaxRate: 1}, &capture.Settings{MaxRate: 2}, &capture.Settings{Paused: true}
	old := map[int][]capture.Channel{
		0: of(was, "A", "BACK", "GONE", "PAUSES", "STAYS", "Z"),
		1: append(of(was, "TWICE"), of(paused, "WAS PAUSED")...),
		2: of(was, "TWICE", "TWICE"),
	}
	now := map[int][]capture.Channel{
		0: of(is, "BACK", "STAYS"),
		1: of(is, "Z"),
		2: append(of(paused, "PAUSES"), of(is, "WAS PAUSED")...),
		3: nil,
		9: of(is, "A", "TWICE"),
	}
	want := map[int]Left{
		0: {Channels: of(was, "A", "Z"), To: []int32{1, 9}},
		1: {Channels: of(was, "TWICE"), To: []int32{9}},
		2: {Channels: of(was, "TWICE"), To: []int32{9}},
	}
	if diff := cmp.Diff(want, Leaving(old, now)); diff != "" {
		t.Error(diff)
	}
	if left := Leaving(now, now); len(left) != 0 {
		t.Errorf("without a change, %v is leaving", left)
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
			goesOn := map[string]bool{}
			for _, ch := range slices.Concat(after.Assignment[shard], left[shard].Channels) {
				if goesOn[ch.PV] {
					t.Fatalf("seed %d: shard %d has %s twice", seed, shard, ch.PV)
				}
				goesOn[ch.PV] = true
			}
			for _, ch := range channels {
				to, wanted := shards[ch.PV]
				pauses := ch.Settings.Paused || wanted && byPV(after)[ch.PV].Settings.Paused
				if want := wanted && (!pauses || to == shard); goesOn[ch.PV] != want {
					t.Fatalf("seed %d: shard %d keeps %s: %v, want %v", seed, shard, ch.PV, goesOn[ch.PV], want)
				}
				if goesOn[ch.PV] && to != shard && !slices.Contains(left[shard].To, int32(to)) {
					t.Fatalf("seed %d: shard %d does not wait for shard %d", seed, shard, to)
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
			all[shard] = append(all[shard], of(&capture.Settings{}, fmt.Sprintf("SR%04d:X%05d", shard, i))...)
		}
	}
	old, after := map[int][]capture.Channel{}, maps.Clone(all)
	for shard := range 10 {
		old[shard], after[shard] = all[shard], all[shard][1:]
	}
	after[100] = append(of(&capture.Settings{}, "SR0000:X00000"), after[100]...)
	for b.Loop() {
		if len(Leaving(old, after)) != 1 {
			b.Fatal("one PV has moved")
		}
	}
	b.ReportMetric(shards*each, "PVs")
}
