package render

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"varve.dev/varve/api/v1alpha1"
)

func engines(t *testing.T, a *v1alpha1.Archiver) *appsv1.Deployment {
	t.Helper()
	return rendered[appsv1.Deployment](t, a, "Deployment", EngineName(a.Name))
}

func TestNewEnginesStartBeforeOldOnesStop(t *testing.T) {
	embedded := load(t, "testdata/embedded.in.yaml")
	if s := engines(t, embedded).Spec.Strategy; s.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("embedded: %v, but two engines cannot share a volume", s)
	}
	for _, c := range []struct {
		hostNetwork    bool
		maxUnavailable int
	}{{false, 0}, {true, 1}} {
		a := inCassandra("lab", "main")
		a.Spec.Engines.HostNetwork = c.hostNetwork
		r := engines(t, a).Spec.Strategy.RollingUpdate
		if r.MaxSurge.IntValue() != 1 || r.MaxUnavailable.IntValue() != c.maxUnavailable {
			t.Errorf("hostNetwork %v: surge %v, unavailable %v", c.hostNetwork, r.MaxSurge, r.MaxUnavailable)
		}
	}
}

// TestReplicasDefaultToOne checks that spec.engines.replicas sets the number of engines, down to
// 0.
func TestReplicasDefaultToOne(t *testing.T) {
	a := inCassandra("lab", "main")
	if n := *engines(t, a).Spec.Replicas; n != 1 {
		t.Errorf("default: got %d engines, want 1", n)
	}
	for _, n := range []int32{0, 7} {
		a.Spec.Engines.Replicas = &n
		if got := *engines(t, a).Spec.Replicas; got != n {
			t.Errorf("%d engines, want %d", got, n)
		}
	}
}

func TestBroadcastFollowsHostNetwork(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		hostNetwork bool
		auto        *bool
		want        string
	}{
		{false, nil, "NO"}, {true, nil, "YES"}, {false, &yes, "YES"}, {true, &no, "NO"},
	} {
		a := inCassandra("lab", "main")
		a.Spec.Engines.HostNetwork, a.Spec.EPICS.AutoAddrList = c.hostNetwork, c.auto
		if got := variable(engines(t, a), "EPICS_CA_AUTO_ADDR_LIST"); got != c.want {
			t.Errorf("hostNetwork %v, autoAddrList %v: %s, want %s", c.hostNetwork, c.auto, got, c.want)
		}
	}
}

func TestSampleMemoryLeavesRoom(t *testing.T) {
	list := func(memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	}
	for _, c := range []struct {
		name         string
		res          *corev1.ResourceRequirements
		samples, max string
	}{
		{"default", nil, "--memory=512Mi", "1843MiB"},
		{"limit", &corev1.ResourceRequirements{Limits: list("4Gi"), Requests: list("1Gi")}, "--memory=1024Mi", "3686MiB"},
		{"request only", &corev1.ResourceRequirements{Requests: list("1Gi")}, "--memory=256Mi", ""},
		{"nothing", &corev1.ResourceRequirements{}, "--memory=512Mi", ""},
		{"small", &corev1.ResourceRequirements{Limits: list("512Mi")}, "--memory=64Mi", "460MiB"},
		{"tiny", &corev1.ResourceRequirements{Limits: list("32Mi")}, "--memory=16Mi", "28MiB"},
	} {
		a := inCassandra("lab", "main")
		a.Spec.Engines.Resources = c.res
		d := engines(t, a)
		if !slices.Contains(d.Spec.Template.Spec.Containers[0].Args, c.samples) {
			t.Errorf("%s: %v, want %s", c.name, d.Spec.Template.Spec.Containers[0].Args, c.samples)
		}
		if got := variable(d, "GOMEMLIMIT"); got != c.max {
			t.Errorf("%s: GOMEMLIMIT %q, want %q", c.name, got, c.max)
		}
	}
}

// TestUnrelatedChangesDoNotRestartEngines changes fields that do not affect engines.
func TestUnrelatedChangesDoNotRestartEngines(t *testing.T) {
	a := inCassandra("lab", "main")
	before := engines(t, a).Spec.Template
	seven := int32(7)
	a.Spec.Engines.Replicas = &seven
	a.Spec.Retrieval.Replicas = &seven
	a.Spec.Retrieval.PodLabels = map[string]string{"team": "web"}
	a.Spec.Rebalance = v1alpha1.RebalanceOff
	a.Spec.EPICS.MaxCircuitsPerServer = 3
	a.Labels = map[string]string{"more": "labels"}
	a.Generation = 9
	if after := engines(t, a).Spec.Template; after.String() != before.String() {
		t.Errorf("engines would restart, because their templates differ:\n%v\n%v", before, after)
	}
}

func variable(d *appsv1.Deployment, name string) string {
	for _, v := range d.Spec.Template.Spec.Containers[0].Env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// TestDiskGuardSettingsReachEngines checks that engines get the minimum age of the samples that the disk guard may
// delete.
func TestDiskGuardSettingsReachEngines(t *testing.T) {
	a := inCassandra("lab", "main")
	for _, c := range []struct {
		guard *v1alpha1.DiskGuardSpec
		want  []string
	}{
		{nil, nil},
		{&v1alpha1.DiskGuardSpec{Action: v1alpha1.DiskGuardDelete, KeepAtLeast: "30d"}, []string{"--disk-keep=30d", "--disk-warn-only=false"}},
		{&v1alpha1.DiskGuardSpec{Action: v1alpha1.DiskGuardWarn}, []string{"--disk-keep=1d", "--disk-warn-only=true"}},
	} {
		a.Spec.Storage.DiskGuard = c.guard
		var got []string
		for _, arg := range engines(t, a).Spec.Template.Spec.Containers[0].Args {
			if strings.HasPrefix(arg, "--disk-") {
				got = append(got, arg)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.guard, got, c.want)
		}
	}
}
