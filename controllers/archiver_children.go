package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/render"
)

// childKinds are the kinds of objects that an Archiver is made of, besides
// ServiceMonitors.
func childKinds() map[client.Object]client.ObjectList {
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

// childKey names an object of one Archiver.
type childKey struct{ kind, name string }

func (k childKey) String() string { return k.kind + " " + k.name }

func keyOf(o render.Object) childKey { return childKey{*o.GetKind(), *o.GetName()} }

// children remembers which objects are as they should be, so that an Archiver of
// which nothing changed costs no requests.
type children struct {
	mu   sync.Mutex
	good map[types.NamespacedName]map[childKey]digest
}

// digest stands for an object as it is, together with what is wanted of it.
type digest [sha256.Size]byte

// listChildren returns the objects that belong to an Archiver, but for
// ServiceMonitors.
func listChildren(ctx context.Context, from client.Client, a *v1alpha1.Archiver) (map[childKey]client.Object, error) {
	live := map[childKey]client.Object{}
	for _, l := range childKinds() {
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

// apply makes objects what is wanted. What the API server refuses for good is
// returned as a message, and the others are applied all the same.
func (c *children) apply(
	ctx context.Context, to client.Client, a *v1alpha1.Archiver, wanted []render.Object, live map[childKey]client.Object,
) (refused string, err error) {
	good := c.of(client.ObjectKeyFromObject(a))
	var messages []string
	for _, o := range wanted {
		key := keyOf(o)
		want, err := json.Marshal(o)
		if err != nil {
			return "", fmt.Errorf("encoding %s: %w", key, err)
		}
		is := live[key]
		now, err := digestOf(want, is)
		if err != nil {
			return "", fmt.Errorf("encoding %s: %w", key, err)
		}
		if good[key] == now {
			continue
		}
		version, err := applyOver(ctx, to, want, is)
		switch {
		case isRefusal(err):
			messages = append(messages, fmt.Sprintf("%s: %v", key, err))
		case err != nil:
			return "", fmt.Errorf("applying %s: %w", key, err)
		case is != nil && version == is.GetResourceVersion():
			good[key] = now // applying it changed nothing
		default:
			ctrl.LoggerFrom(ctx).Info("applied", "object", key.String())
		}
	}
	return strings.Join(messages, "; "), nil
}

// of returns what is remembered of an Archiver. One worker at a time has an
// Archiver, and so its map.
func (c *children) of(archiver types.NamespacedName) map[childKey]digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.good == nil {
		c.good = map[types.NamespacedName]map[childKey]digest{}
	}
	if c.good[archiver] == nil {
		c.good[archiver] = map[childKey]digest{}
	}
	return c.good[archiver]
}

func (c *children) forget(archiver types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.good, archiver)
}

// digestOf sums up what is wanted and what is there, but for what changes by
// itself.
func digestOf(want []byte, is client.Object) (digest, error) {
	h := sha256.New()
	h.Write(want)
	if is != nil {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(is.DeepCopyObject()) // of some kinds it is the object itself
		if err != nil {
			return digest{}, err
		}
		delete(fields, "status")
		for _, f := range []string{"managedFields", "resourceVersion", "generation"} {
			unstructured.RemoveNestedField(fields, "metadata", f)
		}
		text, err := json.Marshal(fields)
		if err != nil {
			return digest{}, err
		}
		h.Write(text)
	}
	return digest(h.Sum(nil)), nil
}

// isRefusal tells errors that only people can mend from those that time does.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err)
}

// prune deletes what is no longer wanted. Volumes are never pruned.
func prune(ctx context.Context, from client.Client, wanted []render.Object, live map[childKey]client.Object) error {
	keep := map[childKey]bool{}
	for _, o := range wanted {
		keep[keyOf(o)] = true
	}
	for key, o := range live {
		if keep[key] || key.kind == kindVolumeClaim || o.GetDeletionTimestamp() != nil {
			continue
		}
		uid := o.GetUID()
		err := from.Delete(ctx, o, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", key, err)
		}
		ctrl.LoggerFrom(ctx).Info("deleted what is no longer needed", "object", key.String())
	}
	return nil
}
