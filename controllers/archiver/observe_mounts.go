package archiver

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
)

// mountPatience is how long a pod may wait for its volumes before somebody is told.
const mountPatience = 10 * time.Second

// failedMounts says why pods wait for their volumes, such as a Secret that does
// not exist: only events tell. One pod of each component is looked at.
func failedMounts(ctx context.Context, api client.Reader, pods []corev1.Pod, now time.Time) map[string]string {
	mounts := map[string]string{}
	asked := map[string]bool{}
	for i := range pods {
		p := &pods[i]
		component := p.Labels[v1alpha1.LabelComponent]
		if asked[component] || !waitsForVolumes(p, now) {
			continue
		}
		asked[component] = true
		var events corev1.EventList
		err := api.List(ctx, &events, client.InNamespace(p.Namespace), client.MatchingFieldsSelector{
			Selector: fields.Set{"involvedObject.uid": string(p.UID), "reason": "FailedMount"}.AsSelector(),
		}, client.Limit(20))
		if err != nil {
			// The status is worth having without.
			ctrl.LoggerFrom(ctx).V(1).Info("events of a pod can not be read", "pod", p.Name, "err", err.Error())
			continue
		}
		var messages []string
		for j := range events.Items {
			messages = append(messages, events.Items[j].Message)
		}
		if len(messages) > 0 {
			// The kubelet's causes begin with MountVolume, its summaries with Unable.
			mounts[p.Name] = slices.Min(messages)
		}
	}
	return mounts
}

// waitsForVolumes reports whether a pod has been on its node for long, and has no
// container yet.
func waitsForVolumes(p *corev1.Pod, now time.Time) bool {
	if p.DeletionTimestamp != nil || !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && now.Sub(c.LastTransitionTime.Time) > mountPatience
	}) {
		return false
	}
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && s.State.Waiting.Reason == "ContainerCreating"
	})
}
