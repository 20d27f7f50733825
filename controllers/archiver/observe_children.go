package archiver

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// ChildKinds returns the kinds of an Archiver's objects. It omits ServiceMonitors and objects
// of Cassandra operators, because their CRDs may not exist.
func ChildKinds() map[client.Object]client.ObjectList {
	return map[client.Object]client.ObjectList{
		&appsv1.Deployment{}:                     &appsv1.DeploymentList{},
		&autoscalingv2.HorizontalPodAutoscaler{}: &autoscalingv2.HorizontalPodAutoscalerList{},
		&batchv1.Job{}:                           &batchv1.JobList{},
		&corev1.PersistentVolumeClaim{}:          &corev1.PersistentVolumeClaimList{},
		&corev1.Service{}:                        &corev1.ServiceList{},
		&corev1.ServiceAccount{}:                 &corev1.ServiceAccountList{},
		&netv1.NetworkPolicy{}:                   &netv1.NetworkPolicyList{},
		&policyv1.PodDisruptionBudget{}:          &policyv1.PodDisruptionBudgetList{},
		&rbacv1.Role{}:                           &rbacv1.RoleList{},
		&rbacv1.RoleBinding{}:                    &rbacv1.RoleBindingList{},
	}
}

const kindVolumeClaim = "PersistentVolumeClaim"

// childKey identifies an object of one Archiver.
type childKey struct{ kind, name string }

func (k childKey) String() string { return k.kind + " " + k.name }

func keyOf(o render.Object) childKey { return childKey{*o.GetKind(), *o.GetName()} }

// listChildren returns the objects of ChildKinds that belong to an Archiver.
func listChildren(ctx context.Context, from client.Client, a *v1alpha1.Archiver) (map[childKey]client.Object, error) {
	live := map[childKey]client.Object{}
	for _, l := range ChildKinds() {
		if err := from.List(ctx, l, client.InNamespace(a.Namespace), client.MatchingLabels{v1alpha1.LabelArchiver: a.Name}); err != nil {
			return nil, fmt.Errorf("listing children: %w", err)
		}
		err := meta.EachListItem(l, func(item runtime.Object) error {
			o := item.(client.Object)
			gvk, err := apiutil.GVKForObject(o, from.Scheme())
			// A volume that outlives its Archiver has no owner.
			if gvk.Kind == kindVolumeClaim || metav1.IsControlledBy(o, a) {
				live[childKey{gvk.Kind, o.GetName()}] = o
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("listing children: %w", err)
		}
	}
	return live, nil
}
