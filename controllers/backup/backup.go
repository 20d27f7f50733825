package backup

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/backup/plan"
	"varve.dev/varve/controllers/render"
	"varve.dev/varve/controllers/status"
	"varve.dev/varve/controllers/wakeup"
)

// backups reconciles ArchiveBackups.
type backups struct {
	Config
	figures *figures
}

// setup makes the reconciler run after changes of ArchiveBackups, and of their Jobs and pods. One worker runs, so that two
// Jobs that must wait for each other do not start at the same time.
func (r *backups) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("archivebackup").
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		WatchesRawSource(wakeup.Late(mgr.GetCache(), &v1alpha1.ArchiveBackup{}, &handler.EnqueueRequestForObject{}, predicate.GenerationChangedPredicate{})).
		Watches(&batchv1.Job{}, named(v1alpha1.LabelBackup)).
		Watches(&corev1.Pod{}, named(v1alpha1.LabelBackup)).
		Complete(r)
}

// Reconcile brings the Jobs and the status of an ArchiveBackup up to date.
func (r *backups) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	b := &v1alpha1.ArchiveBackup{}
	if err := r.Client.Get(ctx, req.NamespacedName, b); err != nil {
		r.figures.forgetBackup(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var failed error
	in, err := r.observe(ctx, b, &failed)
	if err != nil {
		return ctrl.Result{}, err
	}
	d := plan.Backup(in)
	if failed != nil {
		return ctrl.Result{}, failed
	}
	if b.DeletionTimestamp == nil {
		if err := r.guard(ctx, b, d.Guard); err != nil {
			return ctrl.Result{}, err
		}
	}
	for _, name := range d.Discard {
		if err := r.discard(ctx, b.Namespace, name); err != nil {
			return ctrl.Result{}, err
		}
	}
	if d.Start != "" {
		refused, err := r.start(ctx, render.BackupJob(render.Input{Archiver: in.Archiver, Image: r.Image}, b, d.Start))
		if err != nil {
			return ctrl.Result{}, err
		}
		if refused != nil {
			d = plan.RefusedBackup(in, d, refused.Error(), apierrors.HasStatusCause(refused, corev1.NamespaceTerminatingCause))
		}
	}
	if err := r.write(ctx, b, &d); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: d.Again}, r.release(ctx, b, &d)
}

// observe gathers the input of the decision. failed gets an error of the function Conflict.
func (r *backups) observe(ctx context.Context, b *v1alpha1.ArchiveBackup, failed *error) (plan.BackupInput, error) {
	in := plan.BackupInput{Backup: b, Now: r.Now()}
	archiver := b.Spec.ArchiverRef.Name
	jobs, err := r.jobs(ctx, b, v1alpha1.LabelBackup)
	if err != nil {
		return in, err
	}
	in.Create, in.Verify, in.Delete = jobs[render.CreateBackup], jobs[render.VerifyBackup], jobs[render.DeleteBackup]
	if in.Archiver, err = r.archiver(ctx, b.Namespace, archiver); err != nil {
		return in, err
	}
	if in.Engines, err = r.engines(ctx, b.Namespace, archiver); err != nil {
		return in, err
	}
	in.Conflict = r.conflict(ctx, b.Namespace, archiver, &b.Spec.Destination, failed)
	return in, nil
}

// write writes the status, if it has changed.
func (r *backups) write(ctx context.Context, b *v1alpha1.ArchiveBackup, d *plan.BackupDecision) error {
	if b.Status != nil && equality.Semantic.DeepEqual(*b.Status, d.Status) {
		r.figures.observeBackup(b)
		return nil
	}
	old := b.DeepCopy()
	b.Status = &d.Status
	if written, err := status.Patch(ctx, r.Client, old, b); err != nil || !written {
		return err
	}
	var before []metav1.Condition
	if old.Status != nil {
		before = old.Status.Conditions
	}
	status.RecordTransitions(r.Recorder, b, before, d.Status.Conditions)
	r.figures.observeBackup(b)
	return nil
}

// release removes the finalizer of an ArchiveBackup that is being deleted, once nothing is left to do.
func (r *backups) release(ctx context.Context, b *v1alpha1.ArchiveBackup, d *plan.BackupDecision) error {
	if b.DeletionTimestamp == nil || d.Guard {
		return nil
	}
	if err := r.guard(ctx, b, false); err != nil {
		return err
	}
	switch {
	case d.Kept != "":
		r.Recorder.Eventf(b, nil, corev1.EventTypeWarning, "FilesNotDeleted", "Delete", "%s, so the files of backup %s stay", d.Kept, d.Status.BackupName)
	case d.Deleted:
		r.Recorder.Eventf(b, nil, corev1.EventTypeNormal, "FilesDeleted", "Delete", "The files of backup %s were deleted", d.Status.BackupName)
	}
	return nil
}

// guard adds or removes the finalizer of an ArchiveBackup.
func (r *backups) guard(ctx context.Context, b *v1alpha1.ArchiveBackup, on bool) error {
	if controllerutil.ContainsFinalizer(b, v1alpha1.BackupFinalizer) == on {
		return nil
	}
	next := b.DeepCopy()
	if on {
		controllerutil.AddFinalizer(next, v1alpha1.BackupFinalizer)
	} else {
		controllerutil.RemoveFinalizer(next, v1alpha1.BackupFinalizer)
	}
	err := r.Client.Patch(ctx, next, client.MergeFromWithOptions(b, client.MergeFromWithOptimisticLock{}), client.FieldOwner(v1alpha1.FieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the finalizer of ArchiveBackup %s: %w", b.Name, err)
	}
	b.ResourceVersion, b.Finalizers = next.ResourceVersion, next.Finalizers
	return nil
}
