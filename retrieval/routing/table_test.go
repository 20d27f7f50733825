package routing

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/groups/channellist"
)

// pvSetOf returns the pvSet of an encoded list of PVs.
func pvSetOf(t testing.TB, pvs ...string) *pvSet {
	var channels []capture.Channel
	for _, pv := range pvs {
		channels = append(channels, capture.Channel{PV: pv, Group: "ns/g", Settings: &capture.Settings{}})
	}
	n, err := decodePVSet(channellist.Encode(channels)[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// shardOf returns a shard with lists, and with engines given as "engine phase". The first engine seals.
func shardOf(index int, lists string, engines ...string) *v1alpha1.ArchiveShard {
	i := int32(index)
	s := &v1alpha1.ArchiveShard{Status: &v1alpha1.ArchiveShardStatus{}}
	s.Spec.Index, s.Spec.ArchiverRef.Name = &i, "main"
	for _, name := range strings.Fields(lists) {
		s.Spec.Lists = append(s.Spec.Lists, v1alpha1.ChannelListReference{Name: name})
	}
	for _, e := range engines {
		name, phase, _ := strings.Cut(e, " ")
		s.Status.Engines = append(s.Status.Engines, v1alpha1.ShardEngineStatus{Name: name, Phase: v1alpha1.ShardPhase(phase)})
		if s.Status.Sealer == "" {
			s.Status.Sealer = name
		}
	}
	return s
}

func TestTableFindsTheShardsAndEnginesOfAPV(t *testing.T) {
	lists := map[string]*pvSet{"l1": pvSetOf(t, "A", "B"), "l2": pvSetOf(t, "C"), "l3": pvSetOf(t, "A")}
	a := buildTable(map[string]*v1alpha1.ArchiveShard{
		"s1": shardOf(1, "l1 l2", "e1 Capturing"),
		"s2": shardOf(2, "l3", "e2 Capturing", "e1 Draining", "e3 Drained", "gone Capturing"),
		"s3": shardOf(3, "unread", "e3 Joining"),
		"s4": {},
	}, map[string]string{"e1": "u1", "e2": "u2", "e3": "u3"}, func(name string) (*pvSet, bool) {
		n, ok := lists[name]
		return n, ok
	})
	for pv, want := range map[string]string{
		"A": "1:[u1] 2:[u2 u1] 3:[u3] true",
		"C": "1:[u1] 3:[u3] true",
		"X": "3:[u3] false", // only the shard whose list has not been read may have the PV
	} {
		in, certain := a.find(pv)
		var got []string
		for _, p := range in {
			got = append(got, fmt.Sprintf("%d:%v", p.shard, p.engines))
		}
		if s := fmt.Sprint(strings.Join(got, " "), " ", certain); s != want {
			t.Errorf("%s is routed to %s, want %s", pv, s, want)
		}
	}
	if got := slices.Sorted(a.all()); !slices.Equal(got, []string{"A", "A", "B", "C"}) {
		t.Errorf("the PVs are %v", got)
	}
	if !slices.Equal(a.engines, []string{"u1", "u2", "u3"}) {
		t.Errorf("the engines are %v", a.engines)
	}
}

func TestAddressesOmitPodsThatCannotAnswer(t *testing.T) {
	pod := func(ip string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{PodIP: ip, Phase: phase}}
	}
	withReadiness := func(p *corev1.Pod, ready, containers corev1.ConditionStatus) *corev1.Pod {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: containers}, {Type: corev1.PodReady, Status: ready}}
		return p
	}
	yes, no := corev1.ConditionTrue, corev1.ConditionFalse
	got := addressesOf(map[string]*corev1.Pod{
		"v4": pod("10.1.2.3", corev1.PodRunning), "v6": pod("fd00::1", corev1.PodRunning),
		"new": pod("", corev1.PodPending), "over": pod("10.1.2.4", corev1.PodFailed),
		"ready": withReadiness(pod("10.1.2.5", corev1.PodRunning), yes, yes), "draining": withReadiness(pod("10.1.2.6", corev1.PodRunning), no, no),
		"lost": withReadiness(pod("10.1.2.7", corev1.PodRunning), no, yes),
	}, 17665)
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"draining", "ready", "v4", "v6"}) {
		t.Errorf("pods with addresses are %v", names)
	}
	if got["v4"] != "http://10.1.2.3:17665" || got["v6"] != "http://[fd00::1]:17665" {
		t.Errorf("the addresses are %v", got)
	}
}

func BenchmarkFind(b *testing.B) {
	a := &table{}
	for shard := range 64 {
		pvs := make([]string, 15_000)
		for i := range pvs {
			pvs[i] = fmt.Sprintf("SR%02d-PRES-%06d", shard, i)
		}
		a.routes = append(a.routes, route{shard: shard, complete: true, lists: []*pvSet{pvSetOf(b, pvs...)}})
	}
	b.ReportAllocs()
	for b.Loop() {
		if in, _ := a.find("SR40-PRES-001234"); len(in) != 1 {
			b.Fatal("not found")
		}
	}
}
