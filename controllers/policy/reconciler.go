// Package policy reconciles ArchivePolicies: it writes the status of each policy, which warns of mistakes. Package
// shards applies the policies to ArchiveGroups, and retrieval pods apply them to readers.
//
//	fetch    reconciler.go      the ArchivePolicy
//	observe  reconciler.go      its Archiver, the other policies, the outcome of the groups (from shards)
//	plan     status.go          the status (pure), with the warnings of groups/ownership
//	status   reconciler.go      one patch, skipped if nothing has changed
package policy

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/controllers/status"
	"varve.dev/varve/controllers/wakeup"
)

// +kubebuilder:rbac:groups=varve.dev,resources=archivepolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=varve.dev,resources=archivepolicies/status,verbs=get;patch;update

// Reconciler writes the status of ArchivePolicies.
type Reconciler struct {
	// Client reads from a cache.
	Client   client.Client
	Outcomes *outcome.Latest
	Recorder events.EventRecorder
}

// Reconcile writes the status of one policy, if it has changed.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &v1alpha1.ArchivePolicy{}
	if err := r.Client.Get(ctx, req.NamespacedName, p); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	in, err := r.observe(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := compute(in)
	if p.Status != nil && equality.Semantic.DeepEqual(*p.Status, next) {
		return ctrl.Result{}, nil
	}
	old := p.DeepCopy()
	p.Status = &next
	if written, err := status.Patch(ctx, r.Client, old, p); err != nil || !written {
		return ctrl.Result{}, err
	}
	var before []metav1.Condition
	if old.Status != nil {
		before = old.Status.Conditions
	}
	status.RecordTransitions(r.Recorder, p, before, next.Conditions)
	return ctrl.Result{}, nil
}

// observe gathers the input of the status.
func (r *Reconciler) observe(ctx context.Context, p *v1alpha1.ArchivePolicy) (*input, error) {
	in := &input{policy: p, now: time.Now()}
	var all v1alpha1.ArchivePolicyList
	if err := r.Client.List(ctx, &all, client.InNamespace(p.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ArchivePolicies: %w", err)
	}
	in.all = all.Items
	key := types.NamespacedName{Namespace: p.Namespace, Name: p.Spec.ArchiverRef.Name}
	a := &v1alpha1.Archiver{}
	switch err := r.Client.Get(ctx, key, a); {
	case apierrors.IsNotFound(err):
		return in, nil
	case err != nil:
		return nil, fmt.Errorf("getting the Archiver: %w", err)
	}
	in.archiver, in.outcome = a, r.Outcomes.Get(key)
	return in, nil
}

// SetupWithManager makes the reconciler run after changes of policies and Archivers, and after groups were compiled,
// which also follows each change of a policy.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("archivepolicy").
		WatchesRawSource(wakeup.Late(mgr.GetCache(), &v1alpha1.ArchivePolicy{}, &handler.EnqueueRequestForObject{}, predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Archiver{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return r.policiesOf(ctx, client.ObjectKeyFromObject(o))
		}), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(r.Outcomes.Changes(r.policiesOf)).
		Complete(r)
}

// policiesOf returns requests for the policies of an Archiver.
func (r *Reconciler) policiesOf(ctx context.Context, archiver types.NamespacedName) []reconcile.Request {
	var policies v1alpha1.ArchivePolicyList
	if err := r.Client.List(ctx, &policies, client.InNamespace(archiver.Namespace), client.UnsafeDisableDeepCopy); meta.IsNoMatchError(err) {
		return nil // without their CRD, there are no policies; package shards reports that
	} else if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing ArchivePolicies failed")
		return nil
	}
	var requests []reconcile.Request
	for i := range policies.Items {
		if p := &policies.Items[i]; p.Spec.ArchiverRef.Name == archiver.Name {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(p)})
		}
	}
	return requests
}
