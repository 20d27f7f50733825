package status

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"varve.dev/varve/api/v1alpha1"
)

// normallyFalse has the conditions that are False while there are no problems.
var normallyFalse = map[string]bool{
	v1alpha1.ConditionDegraded:     true,
	v1alpha1.ConditionStalled:      true,
	v1alpha1.ConditionConflicted:   true,
	v1alpha1.ConditionExpired:      true,
	v1alpha1.ConditionDiskGuard:    true,
	v1alpha1.ConditionQuestionable: true,
}

// RecordTransitions records an event for each condition whose status has changed. It also
// records an event if the reason of a condition that is not normal has changed. It skips
// Reconciling, which changes together with the other conditions.
func RecordTransitions(to events.EventRecorder, about runtime.Object, old, now []metav1.Condition) {
	for _, c := range now {
		before := meta.FindStatusCondition(old, c.Type)
		normal := (c.Status == metav1.ConditionFalse) == normallyFalse[c.Type]
		switch {
		case c.Type == v1alpha1.ConditionReconciling,
			before == nil && normal && normallyFalse[c.Type],
			before != nil && before.Status == c.Status && (normal || before.Reason == c.Reason):
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Status == metav1.ConditionTrue && normallyFalse[c.Type] && c.Type != v1alpha1.ConditionExpired {
			kind = corev1.EventTypeWarning
		}
		to.Eventf(about, nil, kind, c.Reason, c.Type, "%s is %s: %s", c.Type, c.Status, c.Message)
	}
}
