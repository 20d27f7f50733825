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

// mountPatience is how long a pod may wait for its volumes before the status reports it.
const mountPatience = 10 * time.Second

// failedMounts returns, by pod, why pods wait for their volumes, for example because a Secret
// does not exist. Only events contain the cause. failedMounts checks one pod of each
// component.
func failedMounts(ctx context.Context, api client.Reader, pods []corev1.Pod, now time.Time) map[string]string {
	mounts := map[string]string{}
	checked := map[string]bool{}
	for i := range pods {
		p := &pods[i]
		component := p.Labels[v1alpha1.LabelComponent]
		if checked[component] || !waitsForVolumes(p, now) {
			continue
		}
		checked[component] = true
		var events corev1.EventList
		err := api.List(ctx, &events, client.InNamespace(p.Namespace), client.MatchingFieldsSelector{
			Selector: fields.Set{"involvedObject.uid": string(p.UID), "reason": "FailedMount"}.AsSelector(),
		}, client.Limit(20))
		if err != nil {
			// The status is useful without the cause.
			ctrl.LoggerFrom(ctx).V(1).Info("reading events of a pod failed", "pod", p.Name, "err", err.Error())
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

// waitsForVolumes reports whether a pod was scheduled more than mountPatience ago and
// none of its containers has started.
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
