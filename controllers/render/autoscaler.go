package render

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	autoscaling "k8s.io/client-go/applyconfigurations/autoscaling/v2"

	"varve.dev/varve/api/v1alpha1"
)

// How fast the number of engines changes. A new engine makes others connect and hand
// over shards, so a short peak adds none, and there are at most twice as many, or two
// more, in a minute. Of an engine that goes, all shards move: one goes in a minute,
// after five in which it was not needed.
const (
	growAfterSeconds   = 30
	shrinkAfterSeconds = 300
	scalePeriodSeconds = 60
)

// autoscaler decides on the number of engines, by their CPU. It scales the Archiver, as
// `kubectl scale` does, and not the Deployment: that has what the Archiver says.
func autoscaler(a *v1alpha1.Archiver) *autoscaling.HorizontalPodAutoscalerApplyConfiguration {
	s := a.Spec.Engines.Autoscaling
	grow := autoscaling.HPAScalingRules().
		WithStabilizationWindowSeconds(growAfterSeconds).
		WithSelectPolicy(autoscalingv2.MaxChangePolicySelect).
		WithPolicies(
			scalingPolicy(autoscalingv2.PercentScalingPolicy, 100),
			scalingPolicy(autoscalingv2.PodsScalingPolicy, 2))
	shrink := autoscaling.HPAScalingRules().
		WithStabilizationWindowSeconds(shrinkAfterSeconds).
		WithSelectPolicy(autoscalingv2.MaxChangePolicySelect).
		WithPolicies(scalingPolicy(autoscalingv2.PodsScalingPolicy, 1))
	return autoscaling.HorizontalPodAutoscaler(EngineName(a.Name), a.Namespace).
		WithLabels(Labels(a.Name, v1alpha1.ComponentEngine)).
		WithOwnerReferences(owner(a)).
		WithSpec(autoscaling.HorizontalPodAutoscalerSpec().
			WithScaleTargetRef(autoscaling.CrossVersionObjectReference().
				WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind(v1alpha1.KindArchiver).WithName(a.Name)).
			WithMinReplicas(s.MinReplicas).
			WithMaxReplicas(s.MaxReplicas).
			WithMetrics(autoscaling.MetricSpec().
				// Of the engine alone: a sidecar need not request CPU.
				WithType(autoscalingv2.ContainerResourceMetricSourceType).
				WithContainerResource(autoscaling.ContainerResourceMetricSource().
					WithContainer(v1alpha1.ComponentEngine).
					WithName(corev1.ResourceCPU).
					WithTarget(autoscaling.MetricTarget().
						WithType(autoscalingv2.UtilizationMetricType).
						WithAverageUtilization(s.TargetCPUUtilizationPercentage)))).
			WithBehavior(autoscaling.HorizontalPodAutoscalerBehavior().WithScaleUp(grow).WithScaleDown(shrink)))
}

func scalingPolicy(kind autoscalingv2.HPAScalingPolicyType, value int32) *autoscaling.HPAScalingPolicyApplyConfiguration {
	return autoscaling.HPAScalingPolicy().WithType(kind).WithValue(value).WithPeriodSeconds(scalePeriodSeconds)
}

// EngineReplicas is how many engines run: what the spec says, within the bounds of
// autoscaling. Applying a manifest that no longer has replicas sets them to 1 for a
// moment; that must not drain a fleet. 0 is 0: it is how to rest an archive.
func EngineReplicas(a *v1alpha1.Archiver) int32 {
	n := int32(1)
	if r := a.Spec.Engines.Replicas; r != nil {
		n = *r
	}
	if s := a.Spec.Engines.Autoscaling; s != nil && n > 0 {
		n = min(max(n, s.MinReplicas), s.MaxReplicas)
	}
	return n
}
