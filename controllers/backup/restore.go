package backup

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/backup/plan"
	"varve.dev/varve/controllers/render"
	"varve.dev/varve/controllers/status"
	"varve.dev/varve/controllers/wakeup"
)

// restores reconciles ArchiveRestores.
type restores struct{ Config }

// setup makes the reconciler run after changes of ArchiveRestores, and of their Jobs and pods. One worker runs, so that no
// two restores into an archive start at the same time.
func (r *restores) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("archiverestore").
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		WatchesRawSource(wakeup.Late(mgr.GetCache(), &v1alpha1.ArchiveRestore{}, &handler.EnqueueRequestForObject{}, predicate.GenerationChangedPredicate{})).
		Watches(&batchv1.Job{}, named(v1alpha1.LabelRestore)).
		Watches(&corev1.Pod{}, named(v1alpha1.LabelRestore)).
		Complete(r)
}

// Reconcile brings the Job and the status of an ArchiveRestore up to date.
func (r *restores) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o := &v1alpha1.ArchiveRestore{}
	if err := r.Client.Get(ctx, req.NamespacedName, o); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if o.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // the garbage collector deletes the Job
	}
	var failed error
	in, err := r.observe(ctx, o, &failed)
	if err != nil {
		return ctrl.Result{}, err
	}
	d := plan.Restore(in)
	if failed != nil {
		return ctrl.Result{}, failed
	}
	if d.Discard {
		if err := r.discard(ctx, o.Namespace, in.Job.Name); err != nil {
			return ctrl.Result{}, err
		}
	}
	if d.Start {
		refused, err := r.start(ctx, render.RestoreJob(render.Input{Archiver: in.Archiver, Image: r.Image}, o))
		if err != nil {
			return ctrl.Result{}, err
		}
		if refused != nil {
			d = plan.RefusedRestore(in, d, refused.Error())
		}
	}
	if o.Status != nil && equality.Semantic.DeepEqual(*o.Status, d.Status) {
		return ctrl.Result{RequeueAfter: d.Again}, nil
	}
	old := o.DeepCopy()
	o.Status = &d.Status
	if written, err := status.Patch(ctx, r.Client, old, o); err != nil || !written {
		return ctrl.Result{}, err
	}
	var before []metav1.Condition
	if old.Status != nil {
		before = old.Status.Conditions
	}
	status.RecordTransitions(r.Recorder, o, before, d.Status.Conditions)
	return ctrl.Result{RequeueAfter: d.Again}, nil
}

// observe gathers the input of the decision. failed gets an error of the function Conflict.
func (r *restores) observe(ctx context.Context, o *v1alpha1.ArchiveRestore, failed *error) (plan.RestoreInput, error) {
	in := plan.RestoreInput{Restore: o, Now: r.Now()}
	archiver := o.Spec.ArchiverRef.Name
	jobs, err := r.jobs(ctx, o, v1alpha1.LabelRestore)
	if err != nil {
		return in, err
	}
	in.Job = jobs[render.RestoreBackup]
	var all v1alpha1.ArchiveRestoreList
	if err := r.Client.List(ctx, &all, client.InNamespace(o.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return in, fmt.Errorf("listing ArchiveRestores: %w", err)
	}
	in.Others = all.Items
	if in.Archiver, err = r.archiver(ctx, o.Namespace, archiver); err != nil {
		return in, err
	}
	if in.Engines, err = r.engines(ctx, o.Namespace, archiver); err != nil {
		return in, err
	}
	in.Conflict = r.conflict(ctx, o.Namespace, archiver, &o.Spec.Source, failed)
	return in, nil
}
