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

// metricsPatience is how long CPU metrics may be missing before a condition reports it. At
// first, metrics-server has no metrics of new pods.
const metricsPatience = 2 * time.Minute

// autoscaling returns the condition Autoscaling, or nothing without spec.engines.autoscaling.
func autoscaling(in *Input) []metav1.Condition {
	spec := in.Archiver.Spec.Engines.Autoscaling
	if spec == nil {
		return nil
	}
	set := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionAutoscaling, Status: status, Reason: reason, Message: message}}
	}
	if n := in.Archiver.Spec.Engines.Replicas; n != nil && *n == 0 {
		return set(metav1.ConditionFalse, v1alpha1.ReasonResting, "spec.engines.replicas is 0, so autoscaling is paused: set it to 1 or more to resume")
	}
	if p := autoscalerProblem(in); p.reason != "" {
		return set(metav1.ConditionFalse, p.reason, p.message)
	}
	active := scalerCondition(in.Autoscaler, autoscalingv2.ScalingActive)
	limited := scalerCondition(in.Autoscaler, autoscalingv2.ScalingLimited)
	switch {
	case active == nil || active.Status != corev1.ConditionTrue:
		return set(metav1.ConditionUnknown, v1alpha1.ReasonWaitingForMetrics, "waiting for the first CPU metrics of the engines")
	case limited != nil && limited.Status == corev1.ConditionTrue && limited.Reason == "TooManyReplicas":
		return set(metav1.ConditionTrue, v1alpha1.ReasonAtMaximum, fmt.Sprintf(
			"%d engines are not enough for the load: raise spec.engines.autoscaling.maxReplicas or the engines' CPU request", spec.MaxReplicas))
	}
	return set(metav1.ConditionTrue, v1alpha1.ReasonFollowingLoad, fmt.Sprintf(
		"there are %d to %d engines, so that their average CPU usage is %d %% of the request",
		spec.MinReplicas, spec.MaxReplicas, spec.TargetCPUUtilizationPercentage))
}

// autoscalerProblems returns why the number of engines does not follow their load.
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
		return problem{v1alpha1.ReasonAutoscalerFailed, "autoscaling failed: " + able.Message}
	}
	active := scalerCondition(in.Autoscaler, autoscalingv2.ScalingActive)
	switch {
	case active == nil, active.Status != corev1.ConditionFalse, active.Reason == "ScalingDisabled",
		in.Now.Sub(active.LastTransitionTime.Time) <= metricsPatience:
		return problem{}
	case !strings.HasPrefix(active.Reason, "FailedGet"):
		return problem{v1alpha1.ReasonAutoscalerFailed, "autoscaling failed: " + active.Message}
	case strings.Contains(active.Message, "could not find the requested resource"):
		// The controller's own message is long and does not name the missing component.
		return problem{v1alpha1.ReasonMetricsMissing,
			"engines cannot be autoscaled because the cluster does not serve metrics.k8s.io: install metrics-server"}
	}
	return problem{v1alpha1.ReasonMetricsMissing,
		"engines cannot be autoscaled because their CPU usage is unknown: check that `kubectl top pods` shows it (" + active.Message + ")"}
}

// scalerCondition returns a condition of the autoscaler, or nil.
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
