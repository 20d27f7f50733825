package archiverstatus

import (
	"fmt"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// metricsPatience is how long figures of CPU may be missing before somebody is told:
// metrics-server has none of pods that have just begun.
const metricsPatience = 2 * time.Minute

// autoscaling: True while the number of engines follows their load. There is none
// unless the spec asks for it.
func autoscaling(in *Input) []metav1.Condition {
	spec := in.Archiver.Spec.Engines.Autoscaling
	if spec == nil {
		return nil
	}
	set := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionAutoscaling, Status: status, Reason: reason, Message: message}}
	}
	if n := in.Archiver.Spec.Engines.Replicas; n != nil && *n == 0 {
		return set(metav1.ConditionFalse, v1alpha1.ReasonResting, "spec.engines.replicas is 0: scale to 1 or more to go on")
	}
	if p := autoscalerProblem(in); p.reason != "" {
		return set(metav1.ConditionFalse, p.reason, p.message)
	}
	active := scalerCondition(in.Autoscaler, autoscalingv2.ScalingActive)
	limited := scalerCondition(in.Autoscaler, autoscalingv2.ScalingLimited)
	switch {
	case active == nil || active.Status != corev1.ConditionTrue:
		return set(metav1.ConditionUnknown, v1alpha1.ReasonWaitingForMetrics, "the first figures of CPU have not come yet")
	case limited != nil && limited.Status == corev1.ConditionTrue && limited.Reason == "TooManyReplicas":
		return set(metav1.ConditionTrue, v1alpha1.ReasonAtMaximum, fmt.Sprintf(
			"engines need more CPU than %d of them should take: raise maxReplicas, or what they request", spec.MaxReplicas))
	}
	return set(metav1.ConditionTrue, v1alpha1.ReasonFollowingLoad, fmt.Sprintf(
		"there are %d to %d engines, as many as bring their CPU to %d %% of what they request",
		spec.MinReplicas, spec.MaxReplicas, spec.TargetCPUUtilizationPercentage))
}

// autoscalerProblems says why the number of engines does not follow their load.
func autoscalerProblems(in *Input) []problem {
	if p := autoscalerProblem(in); p.reason != "" {
		return []problem{p}
	}
	return nil
}

func autoscalerProblem(in *Input) problem {
	if in.Archiver.Spec.Engines.Autoscaling == nil || in.Autoscaler == nil {
		return problem{}
	}
	if able := scalerCondition(in.Autoscaler, autoscalingv2.AbleToScale); able != nil && able.Status == corev1.ConditionFalse &&
		(able.Reason == "FailedGetScale" || able.Reason == "FailedUpdateScale") && in.Now.Sub(able.LastTransitionTime.Time) > metricsPatience {
		return problem{v1alpha1.ReasonAutoscalerFailed, "autoscaling does not work: " + able.Message}
	}
	active := scalerCondition(in.Autoscaler, autoscalingv2.ScalingActive)
	switch {
	case active == nil, active.Status != corev1.ConditionFalse, active.Reason == "ScalingDisabled",
		in.Now.Sub(active.LastTransitionTime.Time) <= metricsPatience:
		return problem{}
	case !strings.HasPrefix(active.Reason, "FailedGet"):
		return problem{v1alpha1.ReasonAutoscalerFailed, "autoscaling does not work: " + active.Message}
	case strings.Contains(active.Message, "could not find the requested resource"):
		// What the controller says then is long, and names no program.
		return problem{v1alpha1.ReasonMetricsMissing,
			"engines are not autoscaled: the cluster does not serve metrics.k8s.io; install metrics-server"}
	}
	return problem{v1alpha1.ReasonMetricsMissing,
		"engines are not autoscaled: their CPU is not known; does `kubectl top pods` show it? (" + active.Message + ")"}
}

// scalerCondition returns a condition of the autoscaler; nil if it does not have it.
func scalerCondition(h *autoscalingv2.HorizontalPodAutoscaler, kind autoscalingv2.HorizontalPodAutoscalerConditionType) *autoscalingv2.HorizontalPodAutoscalerCondition {
	if h == nil {
		return nil
	}
	for i := range h.Status.Conditions {
		if c := &h.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}
