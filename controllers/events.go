package controllers

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"varve.dev/varve/api/v1alpha1"
)

// Conditions that are usually False.
var exceptions = map[string]bool{
	v1alpha1.ConditionDegraded:   true,
	v1alpha1.ConditionConflicted: true,
	v1alpha1.ConditionExpired:    true,
	v1alpha1.ConditionDiskGuard:  true,
}

// recordTransitions makes an event of each condition that has another status, or
// another reason while it is not as usual. Progressing makes none: it comes and
// goes with everything else.
func recordTransitions(to events.EventRecorder, about runtime.Object, old, now []metav1.Condition) {
	for _, c := range now {
		before := meta.FindStatusCondition(old, c.Type)
		usual := (c.Status == metav1.ConditionFalse) == exceptions[c.Type]
		switch {
		case c.Type == v1alpha1.ConditionProgressing,
			before == nil && usual && exceptions[c.Type],
			before != nil && before.Status == c.Status && (usual || before.Reason == c.Reason):
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Status == metav1.ConditionTrue && exceptions[c.Type] && c.Type != v1alpha1.ConditionExpired {
			kind = corev1.EventTypeWarning
		}
		to.Eventf(about, nil, kind, c.Reason, c.Type, "%s is %s: %s", c.Type, c.Status, c.Message)
	}
}
