package render

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	policy "k8s.io/client-go/applyconfigurations/policy/v1"

	"varve.dev/varve/api/v1alpha1"
)

// disruptionBudget lets a node drain evict one pod at a time, so that its shards can move first.
// Pods that are not ready never block a drain.
func disruptionBudget(a *v1alpha1.Archiver, component string) *policy.PodDisruptionBudgetApplyConfiguration {
	return policy.PodDisruptionBudget(componentName(a.Name, component), a.Namespace).
		WithLabels(Labels(a.Name, component)).
		WithOwnerReferences(owner(a)).
		WithSpec(policy.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow).
			WithSelector(matching(a.Name, component)))
}
