package shards

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/groups/channellist"
	"varve.dev/varve/groups/compile"
)

// planned returns the compilation of deletions in an archive of four shards. lists has the PVs of the lists that exist.
func planned(in *observed, leaving map[int][]string, erasures ...compile.Erasure) *compilation {
	c := &compilation{shards: make([]compiledShard, 8), data: map[string][]byte{}}
	for i, names := range leaving {
		c.shards[i].leaving = names
	}
	c.encodeDeletions(in, erasures)
	return c
}

// archiveWith returns an archive without groups, with channel lists of the given PVs by name.
func archiveWith(lists map[string][]string) *observed {
	in := &observed{
		archiver: &v1alpha1.Archiver{ObjectMeta: metav1.ObjectMeta{Name: "main"}}, shards: map[int]*v1alpha1.ArchiveShard{}, lists: map[string]*corev1.ConfigMap{},
	}
	for name, pvs := range lists {
		in.lists[name] = &corev1.ConfigMap{BinaryData: map[string][]byte{v1alpha1.ChannelListKey: encoded(pvs...)}}
	}
	return in
}

func encoded(pvs ...string) []byte {
	var channels []capture.Channel
	for _, pv := range pvs {
		channels = append(channels, capture.Channel{PV: pv, Group: "ns/g"})
	}
	return channellist.Encode(channels)[0].Data
}

// describeOrders returns the deletions of each shard as text, with their PVs.
func describeOrders(t *testing.T, c *compilation) (out []string) {
	t.Helper()
	for i := range c.shards {
		for _, o := range c.shards[i].erasures {
			var pvs []string
			for _, name := range o.Lists {
				channels, err := channellist.Decode(c.data[name])
				if err != nil {
					t.Fatal(err)
				}
				for _, ch := range channels {
					pvs = append(pvs, ch.PV)
				}
			}
			from := "-"
			if o.From != nil {
				from = fmt.Sprint(*o.From)
			}
			out = append(out, fmt.Sprintf("%d: %s to %d of %s for %s: %s", i, from, *o.To, strings.Join(pvs, " "), o.Group, o.Reason))
		}
	}
	return out
}

func TestADeletionIsOrderedFromTheShardsOfItsPVs(t *testing.T) {
	c := planned(archiveWith(nil), nil,
		compile.Erasure{Group: "ns/g", Reason: "bad calibration", From: 5, To: 9, PVs: []string{"A", "B", "C"}, ByShard: map[int][]string{1: {"A", "C"}, 6: {"B"}}},
		compile.Erasure{Group: "ns/h", Reason: "wrong PV", From: math.MinInt64, To: 7, PVs: []string{"D"}, ByShard: map[int][]string{1: {"D"}}})
	for range 2 { // every run of the reconciler gives the orders again
		c.orderDeletions()
	}
	want := []string{"1: 5 to 9 of A C for ns/g: bad calibration", "1: - to 7 of D for ns/h: wrong PV", "6: 5 to 9 of B for ns/g: bad calibration"}
	if got := describeOrders(t, c); !slices.Equal(got, want) {
		t.Errorf("orders %q, want %q", got, want)
	}
	if c.shards[1].erasures[0].Name == c.shards[6].erasures[0].Name {
		t.Error("orders for different PVs have the same name")
	}
}

// TestADeletionWaitsForMoves checks that no order is given while another shard may still hold samples of a PV.
func TestADeletionWaitsForMoves(t *testing.T) {
	in := archiveWith(map[string][]string{"left": {"A", "X"}, "other": {"Y"}})
	in.lists["damaged"] = &corev1.ConfigMap{}
	in.shards[2] = &v1alpha1.ArchiveShard{Spec: v1alpha1.ArchiveShardSpec{Former: []v1alpha1.FormerChannelList{{Name: "left"}, {Name: "other"}}}}
	of := func(pvs ...string) compile.Erasure {
		return compile.Erasure{Group: "ns/g", To: 9, PVs: pvs, ByShard: map[int][]string{1: pvs}}
	}
	for _, tc := range []struct {
		name    string
		leaving map[int][]string
		pvs     []string
		// waits tells whether the deletion waits while the lists are leaving or former, after each of the lists is gone.
		waits, afterFormer, afterLeaving bool
	}{
		{"its PV left a shard", nil, []string{"A", "B"}, true, false, false},
		{"its PV leaves a shard", map[int][]string{3: {"left"}}, []string{"A"}, true, true, false},
		{"another PV left a shard", nil, []string{"B"}, false, false, false},
		{"a list that cannot be read", map[int][]string{3: {"damaged"}}, []string{"B"}, true, true, false},
		{"a list that does not exist", map[int][]string{3: {"gone"}}, []string{"B"}, true, true, false},
	} {
		c := planned(in, tc.leaving, of(tc.pvs...))
		c.shards[2].former = in.shards[2].Spec.Former
		waits := func() bool { c.orderDeletions(); return len(c.shards[1].erasures) == 0 }
		if got := waits(); got != tc.waits || got != strings.Contains(c.deletions[0].blocked, "moved to other shards") || c.deletions[0].failed {
			t.Errorf("%s: waits %v: %+v", tc.name, got, c.deletions[0])
		}
		c.shards[2].former = nil
		if got := waits(); got != tc.afterFormer {
			t.Errorf("%s: without former lists it waits: %v", tc.name, got)
		}
		c.shards[3].leaving = nil
		if got := waits(); got != tc.afterLeaving {
			t.Errorf("%s: without leaving lists it waits: %v", tc.name, got)
		}
	}
}

// TestDeletionsAreBounded checks that deletions which the API would refuse wait, and say what to do.
func TestDeletionsAreBounded(t *testing.T) {
	var many []compile.Erasure
	for i := range maxErasures + 2 {
		many = append(many, compile.Erasure{Group: "ns/g", Index: i % 16, To: int64(i), PVs: []string{"A"}, ByShard: map[int][]string{1: {"A"}}})
	}
	many = append(many, many[0])
	c := planned(archiveWith(nil), nil, many...)
	c.orderDeletions()
	if n := len(c.shards[1].erasures); n != maxErasures {
		t.Errorf("a shard has %d deletions", n)
	}
	for i, want := range map[int]string{
		0: "", maxErasures - 1: "", maxErasures: "already has 64 deletions", maxErasures + 1: "already has 64 deletions", maxErasures + 2: "another entry of the group is the same",
	} {
		if d := c.deletions[i]; (want == "") != (d.blocked == "") || !strings.Contains(d.blocked, want) || d.failed != (want != "") {
			t.Errorf("deletion %d: %q, failed %v; want %q", i, d.blocked, d.failed, want)
		}
	}
}

// TestAKeptShardKeepsItsDeletions checks that a shard does not change whose channels are unknown.
func TestAKeptShardKeepsItsDeletions(t *testing.T) {
	in := archiveWith(nil)
	in.shards[1] = &v1alpha1.ArchiveShard{Spec: v1alpha1.ArchiveShardSpec{Erasures: []v1alpha1.ShardErasure{{Name: "known"}}}}
	c := planned(in, nil, compile.Erasure{Group: "ns/g", To: 9, PVs: []string{"A"}, ByShard: map[int][]string{1: {"A"}}})
	c.shards[1] = in.keep(1)
	c.orderDeletions()
	if e := c.shards[1].erasures; len(e) != 1 || e[0].Name != "known" || c.deletions[0].blocked == "" {
		t.Errorf("orders %+v, deletion %+v", e, c.deletions[0])
	}
}
