package archiver

import (
	"math"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/fleet"
)

// TestWrongCosts checks that only clearly wrong deletion costs are written, and the most wrong
// costs first.
func TestWrongCosts(t *testing.T) {
	pod := func(name, cost string) corev1.Pod {
		p := corev1.Pod{}
		p.Name = name
		if cost != "" {
			p.Annotations = map[string]string{corev1.PodDeletionCost: cost}
		}
		return p
	}
	engine := func(name string, rate float64) fleet.Engine {
		return fleet.Engine{Name: name, Report: &report.Report{Shards: []report.Shard{
			{Phase: string(v1alpha1.Capturing), SamplesPerSecond: rate},
			{Phase: string(v1alpha1.Drained), SamplesPerSecond: 1e6},
		}}}
	}
	dead, leaving := engine("dead", 50_000), engine("leaving", 50_000)
	dead.Dead, leaving.Deleting = true, true
	pods := []corev1.Pod{
		pod("new", ""), pod("right", "49000"), pod("noise", "30000"), pod("less", "80000"), pod("idle", ""),
		pod("nonsense", "x"), pod("negative", "-5"), pod("silent", "7"), pod("dead", ""), pod("leaving", ""),
	}
	engines := []fleet.Engine{
		engine("new", 51_234), engine("right", 50_000), engine("noise", 43_000), engine("less", 10_000), engine("idle", 3),
		engine("nonsense", 2000), engine("negative", 300), {Name: "silent"}, dead, leaving,
	}
	var got []string
	for _, c := range wrongCosts(pods, engines) {
		got = append(got, c.pod+" "+strconv.FormatInt(c.cost, 10))
	}
	if want := []string{"new 51000", "nonsense 2000", "less 10000", "negative 300"}; !slices.Equal(got, want) {
		t.Errorf("costs to write are %q, want %q", got, want)
	}
}

// A cost that was written is not wrong, so each pod is written only once.
func TestWrittenCostsAreNotWrittenAgain(t *testing.T) {
	for load := 1.0; load < 1e12; load *= 1.07 {
		e := fleet.Engine{Name: "a", Report: &report.Report{Shards: []report.Shard{{Phase: string(v1alpha1.Capturing), SamplesPerSecond: load}}}}
		p := corev1.Pod{}
		p.Name, p.Annotations = "a", map[string]string{corev1.PodDeletionCost: strconv.FormatInt(coarse(load), 10)}
		if wrong := wrongCosts([]corev1.Pod{p}, []fleet.Engine{e}); len(wrong) > 0 {
			t.Errorf("a load of %g was written as %d and would be written again as %d", load, coarse(load), wrong[0].cost)
		}
		if coarse(load) > math.MaxInt32 {
			t.Errorf("a load of %g becomes cost %d, which Kubernetes refuses", load, coarse(load))
		}
	}
}
