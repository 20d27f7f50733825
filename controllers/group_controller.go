package controllers

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/groupstatus"
)

// +kubebuilder:rbac:groups=varve.dev,resources=archivegroups,verbs=get;list;watch
// +kubebuilder:rbac:groups=varve.dev,resources=archivegroups/status,verbs=get;patch;update

// GroupReconciler says how the channels of an ArchiveGroup are doing. What is
// archived is not its business, but that of ShardsReconciler.
type GroupReconciler struct {
	// Client reads from a cache.
	Client   client.Client
	Fleet    *fleet.Fleet
	Outcomes *Outcomes
	// Compiled wakes the groups of an Archiver that has another outcome.
	Compiled *Wakeups
	Recorder events.EventRecorder

	written pace
}

// SetupWithManager lets the reconciler run: on changes of groups, when they were
// compiled, and on the reports of engines.
func (r *GroupReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("archivegroup").
		For(&v1alpha1.ArchiveGroup{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Archiver{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return r.groupsOf(ctx, client.ObjectKeyFromObject(o))
		}), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(r.Compiled.source(r.groupsOf)).
		WatchesRawSource(r.Fleet.Reports(r.groupsOf)).
		Complete(r)
}

// Reconcile writes the status of one group, if it has changed.
func (r *GroupReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	group := &v1alpha1.ArchiveGroup{}
	if err := r.Client.Get(ctx, req.NamespacedName, group); err != nil {
		r.written.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	in, err := r.observe(ctx, group)
	if err != nil {
		return ctrl.Result{}, err
	}
	status := groupstatus.Compute(in)
	if !groupstatus.Changed(group.Status, status, r.written.since(req.NamespacedName)) {
		return ctrl.Result{}, nil
	}
	old := group.DeepCopy()
	group.Status = &status
	err = r.Client.Status().Patch(ctx, group, client.MergeFrom(old), client.FieldOwner(v1alpha1.FieldManager))
	if err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("writing the status: %w", err)
	}
	r.written.wrote(req.NamespacedName)
	var before []metav1.Condition
	if old.Status != nil {
		before = old.Status.Conditions
	}
	recordTransitions(r.Recorder, group, before, status.Conditions)
	return ctrl.Result{}, nil
}

// observe gathers what the status is made of.
func (r *GroupReconciler) observe(ctx context.Context, group *v1alpha1.ArchiveGroup) (groupstatus.Input, error) {
	in := groupstatus.Input{Group: group, Starting: !r.Fleet.Synced(), Now: time.Now()}
	archiver := archiverOfGroup(group)
	switch err := r.Client.Get(ctx, archiver, &v1alpha1.Archiver{}); {
	case apierrors.IsNotFound(err):
		return in, nil
	case err != nil:
		return in, fmt.Errorf("getting the Archiver: %w", err)
	}
	in.ArchiverFound = true
	name := group.Namespace + "/" + group.Name
	if o := r.Outcomes.Get(archiver); o != nil {
		in.Compiled, in.CompiledGeneration = o.Groups[name], o.Generations[name]
		in.Outdated, in.Unplaced = o.Outdated[name], o.Unplaced
	}
	engines, err := r.Fleet.Engines(ctx, archiver)
	if err != nil {
		return in, fmt.Errorf("listing engines: %w", err)
	}
	for _, e := range engines {
		if e.Report != nil {
			in.Reports = append(in.Reports, *e.Report)
		}
	}
	return in, nil
}

// groupsOf asks to reconcile the groups of an Archiver.
func (r *GroupReconciler) groupsOf(ctx context.Context, archiver types.NamespacedName) []reconcile.Request {
	var groups v1alpha1.ArchiveGroupList
	if err := r.Client.List(ctx, &groups, client.InNamespace(archiver.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "groups can not be listed")
		return nil
	}
	var requests []reconcile.Request
	for i := range groups.Items {
		if g := &groups.Items[i]; archiverOfGroup(g) == archiver {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(g)})
		}
	}
	return requests
}

func archiverOfGroup(g *v1alpha1.ArchiveGroup) types.NamespacedName {
	return types.NamespacedName{Namespace: g.Namespace, Name: g.Spec.ArchiverRef.Name}
}
