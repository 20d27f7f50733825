package render

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"varve.dev/varve/api/v1alpha1"
)

func autoscaled(replicas *int32, least, most int32) *v1alpha1.Archiver {
	a := inCassandra("lab", "main")
	a.Spec.Engines.Replicas = replicas
	a.Spec.Engines.Autoscaling = &v1alpha1.AutoscalingSpec{MinReplicas: least, MaxReplicas: most, TargetCPUUtilizationPercentage: 70}
	return a
}

// TestAutoscalerScalesArchiverByCPU checks that the autoscaler scales the Archiver, as kubectl
// does, and uses the metric of an existing container.
func TestAutoscalerScalesArchiverByCPU(t *testing.T) {
	a := autoscaled(nil, 2, 9)
	h := rendered[autoscalingv2.HorizontalPodAutoscaler](t, a, "HorizontalPodAutoscaler", EngineName(a.Name))
	if ref := h.Spec.ScaleTargetRef; ref.APIVersion != "varve.dev/v1alpha1" || ref.Kind != "Archiver" || ref.Name != "main" {
		t.Errorf("the autoscaler scales %v", ref)
	}
	if *h.Spec.MinReplicas != 2 || h.Spec.MaxReplicas != 9 || len(h.Spec.Metrics) != 1 {
		t.Errorf("the autoscaler has the spec %v", h.Spec)
	}
	metric := h.Spec.Metrics[0].ContainerResource
	container := engines(t, a).Spec.Template.Spec.Containers[0]
	if metric == nil || metric.Container != container.Name || *metric.Target.AverageUtilization != 70 {
		t.Errorf("metric %v", h.Spec.Metrics[0])
	}
	if _, requested := container.Resources.Requests["cpu"]; !requested {
		t.Error("engines request no CPU, so the autoscaler has no target")
	}
}

func TestAutoscalerIsRenderedOnlyOnRequest(t *testing.T) {
	for _, o := range Archiver(Input{Archiver: inCassandra("lab", "main"), Image: "varve:1"}) {
		if *o.GetKind() == "HorizontalPodAutoscaler" {
			t.Errorf("%s is rendered without autoscaling", *o.GetName())
		}
	}
}

// TestEngineReplicasStayWithinAutoscalingBounds checks that the number of engines stays within
// the bounds of autoscaling for any spec.engines.replicas except 0.
func TestEngineReplicasStayWithinAutoscalingBounds(t *testing.T) {
	for _, c := range []struct {
		replicas *int32
		want     int32
	}{{nil, 3}, {new(int32(1)), 3}, {new(int32(5)), 5}, {new(int32(50)), 8}, {new(int32(0)), 0}} {
		a := autoscaled(c.replicas, 3, 8)
		if got := EngineReplicas(a); got != c.want {
			t.Errorf("replicas %v: got %d engines, want %d", c.replicas, got, c.want)
		}
		if got := *engines(t, a).Spec.Replicas; got != c.want {
			t.Errorf("replicas %v: the Deployment has %d, want %d", c.replicas, got, c.want)
		}
	}
}
