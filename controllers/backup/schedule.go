package backup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/backup/plan"
	"varve.dev/varve/controllers/status"
	"varve.dev/varve/controllers/wakeup"
)

// schedules reconciles ArchiveBackupSchedules.
type schedules struct {
	Config
	figures *figures
}

// setup makes the reconciler run after changes of ArchiveBackupSchedules and of their ArchiveBackups.
func (r *schedules) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("archivebackupschedule").
		WatchesRawSource(wakeup.Late(mgr.GetCache(), &v1alpha1.ArchiveBackupSchedule{}, &handler.EnqueueRequestForObject{}, predicate.GenerationChangedPredicate{})).
		WatchesRawSource(wakeup.Late(mgr.GetCache(), &v1alpha1.ArchiveBackup{}, named(v1alpha1.LabelBackupSchedule), predicate.ResourceVersionChangedPredicate{})).
		Complete(r)
}

// Reconcile creates and deletes ArchiveBackups of a schedule, and writes its status.
func (r *schedules) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &v1alpha1.ArchiveBackupSchedule{}
	if err := r.Client.Get(ctx, req.NamespacedName, s); err != nil {
		r.figures.forgetSchedule(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if s.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // its ArchiveBackups stay
	}
	var all v1alpha1.ArchiveBackupList
	err := r.Client.List(ctx, &all, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.LabelBackupSchedule: s.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("listing ArchiveBackups: %w", err)
	}
	d := plan.Schedule(plan.ScheduleInput{Schedule: s, Backups: all.Items, Now: r.Now()})
	if err := r.apply(ctx, s, &d); err != nil {
		return ctrl.Result{}, err
	}
	r.figures.observeSchedule(req.NamespacedName, d.Due, d.Failed)
	if s.Status != nil && equality.Semantic.DeepEqual(*s.Status, d.Status) {
		return ctrl.Result{RequeueAfter: d.Again}, nil
	}
	old := s.DeepCopy()
	s.Status = &d.Status
	if written, err := status.Patch(ctx, r.Client, old, s); err != nil || !written {
		return ctrl.Result{}, err
	}
	var before []metav1.Condition
	if old.Status != nil {
		before = old.Status.Conditions
	}
	status.RecordTransitions(r.Recorder, s, before, d.Status.Conditions)
	return ctrl.Result{RequeueAfter: d.Again}, nil
}

// apply creates the ArchiveBackup that is due, and deletes the oldest ones. It runs before the status says so: if the
// operator is stopped in between, it finds the same name again.
func (r *schedules) apply(ctx context.Context, s *v1alpha1.ArchiveBackupSchedule, d *plan.ScheduleDecision) error {
	if d.Create != nil {
		err := r.Client.Create(ctx, d.Create, client.FieldOwner(v1alpha1.FieldManager))
		switch {
		case err == nil:
			r.Recorder.Eventf(s, nil, corev1.EventTypeNormal, "BackupCreated", "Create", "Created ArchiveBackup %s", d.Create.Name)
		case !apierrors.IsAlreadyExists(err):
			return fmt.Errorf("creating ArchiveBackup %s: %w", d.Create.Name, err)
		}
	}
	if d.Skipped != "" {
		r.Recorder.Eventf(s, nil, corev1.EventTypeWarning, "BackupSkipped", "Create", "A backup was due, but ArchiveBackup %s has not ended", d.Skipped)
	}
	for _, name := range d.Delete {
		b := &v1alpha1.ArchiveBackup{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
		if err := r.Client.Delete(ctx, b); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting ArchiveBackup %s: %w", name, err)
		}
		r.Recorder.Eventf(s, nil, corev1.EventTypeNormal, "BackupDeleted", "Delete", "Deleted ArchiveBackup %s, because spec.keep allows no more", name)
	}
	return nil
}
