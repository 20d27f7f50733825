package archiverstatus

import (
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// autoscaled returns a healthy Archiver with autoscaling. Its autoscaler has one condition
// with the given age.
func autoscaled(age time.Duration, kind autoscalingv2.HorizontalPodAutoscalerConditionType, status corev1.ConditionStatus, reason, message string) Input {
	in := healthy()
	in.Archiver.Spec.Engines.Autoscaling = &v1alpha1.AutoscalingSpec{MinReplicas: 2, MaxReplicas: 9, TargetCPUUtilizationPercentage: 70}
	in.Autoscaler = &autoscalingv2.HorizontalPodAutoscaler{Status: autoscalingv2.HorizontalPodAutoscalerStatus{
		Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{{
			Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound",
			LastTransitionTime: metav1.NewTime(now.Add(-time.Hour)),
		}},
	}}
	c := autoscalingv2.HorizontalPodAutoscalerCondition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-age)),
	}
	if all := in.Autoscaler.Status.Conditions; kind == autoscalingv2.ScalingActive {
		all[0] = c
	} else {
		in.Autoscaler.Status.Conditions = append(all, c)
	}
	return in
}

// These are messages of the HorizontalPodAutoscaler controller. The first occurs without
// metrics-server, the second with a metrics-server that has no metrics of the pods.
const (
	noServer = "the HPA was unable to compute the replica count: failed to get cpu usage: unable to get metrics for resource cpu: " +
		"unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)"
	noMetrics = "the HPA was unable to compute the replica count: failed to get cpu usage: unable to get metrics for resource cpu: " +
		"no metrics returned from resource metrics API"
)

func TestAutoscalingReportsProblems(t *testing.T) {
	const active, able, limited = autoscalingv2.ScalingActive, autoscalingv2.AbleToScale, autoscalingv2.ScalingLimited
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	for _, c := range []struct {
		name     string
		in       Input
		want     string // status, reason
		message  string
		degraded bool
	}{
		{"it works", autoscaled(time.Hour, active, yes, "ValidMetricFound", ""), "True FollowingLoad", "2 to 9 engines", false},
		{"no metrics-server", autoscaled(time.Hour, active, no, "FailedGetContainerResourceMetric", noServer), "False MetricsMissing", "install metrics-server", true},
		{"no metrics", autoscaled(time.Hour, active, no, "FailedGetContainerResourceMetric", noMetrics), "False MetricsMissing", "kubectl top pods", true},
		{"no metrics yet", autoscaled(time.Minute, active, no, "FailedGetContainerResourceMetric", noMetrics), "Unknown WaitingForMetrics", "", false},
		{"another autoscaler", autoscaled(time.Hour, active, no, "AmbiguousSelector", "pods by selector are controlled by multiple HPAs"), "False AutoscalerFailed", "multiple HPAs", true},
		{"no permission to scale", autoscaled(time.Hour, able, no, "FailedGetScale", "forbidden"), "False AutoscalerFailed", "forbidden", true},
		{"at maximum", autoscaled(time.Hour, limited, yes, "TooManyReplicas", ""), "True AtMaximum", "raise spec.engines.autoscaling.maxReplicas", false},
		{"at minimum", autoscaled(time.Hour, limited, yes, "TooFewReplicas", ""), "True FollowingLoad", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Compute(c.in)
			got := condition(t, s, v1alpha1.ConditionAutoscaling)
			if string(got.Status)+" "+got.Reason != c.want || !strings.Contains(got.Message, c.message) {
				t.Errorf("%s %s (%s), want %s (%s)", got.Status, got.Reason, got.Message, c.want, c.message)
			}
			degraded := condition(t, s, v1alpha1.ConditionDegraded)
			if (degraded.Status == metav1.ConditionTrue) != c.degraded || c.degraded && degraded.Reason != got.Reason {
				t.Errorf("Degraded is %s %s", degraded.Status, degraded.Reason)
			}
		})
	}
}

func TestAutoscalingStartsAndPauses(t *testing.T) {
	in := autoscaled(time.Hour, autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled", "")
	in.Archiver.Spec.Engines.Replicas = new(int32(0))
	if c := condition(t, Compute(in), v1alpha1.ConditionAutoscaling); c.Reason != v1alpha1.ReasonResting {
		t.Errorf("scaled to 0: %v", c)
	}
	in.Archiver.Spec.Engines.Replicas, in.Autoscaler = new(int32(1)), nil
	s := Compute(in)
	if c := condition(t, s, v1alpha1.ConditionAutoscaling); c.Reason != v1alpha1.ReasonWaitingForMetrics || s.Engines != "2/2" {
		t.Errorf("at the start: %v, engines %s", c, s.Engines)
	}
	in.Archiver.Spec.Engines.Autoscaling = nil
	for _, c := range Compute(in).Conditions {
		if c.Type == v1alpha1.ConditionAutoscaling {
			t.Errorf("without spec.engines.autoscaling: %v", c)
		}
	}
}
