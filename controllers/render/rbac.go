package render

import (
	rbacv1 "k8s.io/api/rbac/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"
	rbac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"varve.dev/varve/api/v1alpha1"
)

// engineRules are the permissions of the agent: it reads shards and channel lists, reports its
// status, and renews its Lease. An engine with an embedded store also serves readers.
func engineRules(embedded bool) []*rbac.PolicyRuleApplyConfiguration {
	rules := []*rbac.PolicyRuleApplyConfiguration{
		rule(v1alpha1.GroupVersion.Group, "archiveshards", "get", "list", "watch"),
		rule(v1alpha1.GroupVersion.Group, "archiveshards/status", "patch", "update"),
		rule("", "configmaps", "get"),
		rule("coordination.k8s.io", "leases", "get", "create", "update"),
	}
	if embedded {
		rules = append(rules, policyRule())
	}
	return rules
}

// policyRule is the permission to know who may read which PVs.
func policyRule() *rbac.PolicyRuleApplyConfiguration {
	return rule(v1alpha1.GroupVersion.Group, "archivepolicies", "get", "list", "watch")
}

// retrievalRules are the permissions for finding the engine of a PV, for showing groups, and for applying policies.
func retrievalRules() []*rbac.PolicyRuleApplyConfiguration {
	return []*rbac.PolicyRuleApplyConfiguration{
		rule(v1alpha1.GroupVersion.Group, "archiveshards", "get", "list", "watch"),
		rule(v1alpha1.GroupVersion.Group, "archivegroups", "get", "list", "watch"),
		policyRule(),
		rule("", "configmaps", "get"),
		rule("", "pods", "get", "list", "watch"),
	}
}

func rule(group, resource string, verbs ...string) *rbac.PolicyRuleApplyConfiguration {
	return rbac.PolicyRule().WithAPIGroups(group).WithResources(resource).WithVerbs(verbs...)
}

// rights returns the ServiceAccount of a component's pods, its Role, and their RoleBinding.
func rights(a *v1alpha1.Archiver, component string, rules []*rbac.PolicyRuleApplyConfiguration) []Object {
	name := componentName(a.Name, component)
	account := core.ServiceAccount(name, a.Namespace).
		WithLabels(Labels(a.Name, component)).WithOwnerReferences(owner(a)).
		// Pods that need the token mount it themselves.
		WithAutomountServiceAccountToken(false)
	role := rbac.Role(name, a.Namespace).
		WithLabels(Labels(a.Name, component)).WithOwnerReferences(owner(a)).
		WithRules(rules...)
	binding := rbac.RoleBinding(name, a.Namespace).
		WithLabels(Labels(a.Name, component)).WithOwnerReferences(owner(a)).
		WithRoleRef(rbac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(name)).
		WithSubjects(rbac.Subject().WithKind(rbacv1.ServiceAccountKind).WithNamespace(a.Namespace).WithName(name))
	return []Object{account, role, binding}
}
