package render

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	autoscaling "k8s.io/client-go/applyconfigurations/autoscaling/v2"

	"varve.dev/varve/api/v1alpha1"
)

// These constants set how fast the number of engines changes. Shards must move to a new
// engine, so a short load peak does not add an engine. In a minute, the number grows by at
// most 100 %, or by two engines. All shards of a removed engine must move, so at most one
// engine is removed per minute, after the load has been low for five minutes.
const (
	growAfterSeconds   = 30
	shrinkAfterSeconds = 300
	scalePeriodSeconds = 60
)

// autoscaler sets the number of engines by their CPU usage. It scales the Archiver, as `kubectl
// scale` does, not the Deployment: the operator derives the Deployment from the Archiver.
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
				// With this metric, sidecars need no CPU request.
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

// EngineReplicas returns the number of engines: spec.engines.replicas, within the bounds of
// autoscaling. Applying a manifest without replicas sets them to 1 for a moment, which must
// not drain all other engines. 0 remains 0 and stops all engines.
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
