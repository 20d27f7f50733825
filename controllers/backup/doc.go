// Package backup reconciles ArchiveBackups, ArchiveBackupSchedules and ArchiveRestores. The program does the work in Jobs
// (varve backup); package plan decides:
//
//	ArchiveBackupSchedule ──▶ schedule.go ── plan.Schedule ──▶ ArchiveBackups
//	ArchiveBackup ──────────▶ backup.go ──── plan.Backup ────▶ Jobs: create, verify, delete
//	ArchiveRestore ─────────▶ restore.go ─── plan.Restore ───▶ Job: restore
//	                              ▲                               │ render.BackupJob, render.RestoreJob
//	                              └── termination messages ◀── pods
//
// Each reconciler fetches, observes, plans, applies, and writes the status. metrics.go has the figures for alerts.
package backup

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batch "k8s.io/client-go/applyconfigurations/batch/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/backup/plan"
	"varve.dev/varve/controllers/render"
)

// +kubebuilder:rbac:groups=varve.dev,resources=archivebackups,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=varve.dev,resources=archivebackupschedules;archiverestores,verbs=get;list;watch
// +kubebuilder:rbac:groups=varve.dev,resources=archivebackups/status;archivebackupschedules/status;archiverestores/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=varve.dev,resources=archivebackups/finalizers;archiverestores/finalizers,verbs=update

// Config is what the reconcilers share.
type Config struct {
	// Client reads from a cache. API reads from the API server.
	Client client.Client
	API    client.Reader

	Recorder events.EventRecorder
	// Registerer registers the metrics of backups.
	Registerer prometheus.Registerer
	// Image is the image of Archivers that do not name an image.
	Image string
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// Setup adds the reconcilers to a manager.
func Setup(mgr ctrl.Manager, c Config) error {
	if c.Now == nil {
		c.Now = time.Now
	}
	figures := &figures{}
	if err := c.Registerer.Register(figures); err != nil {
		return fmt.Errorf("registering the metrics of backups: %w", err)
	}
	for _, setup := range []func(ctrl.Manager) error{
		(&backups{c, figures}).setup, (&schedules{c, figures}).setup, (&restores{c}).setup,
	} {
		if err := setup(mgr); err != nil {
			return err
		}
	}
	return nil
}

// archiver returns the Archiver of an object, or nil if there is none or it is being deleted.
func (c *Config) archiver(ctx context.Context, namespace, name string) (*v1alpha1.Archiver, error) {
	a := &v1alpha1.Archiver{}
	switch err := c.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, a); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("getting Archiver %s: %w", name, err)
	case a.DeletionTimestamp != nil:
		return nil, nil
	}
	return a, nil
}

// engines counts the engine pods of an Archiver that have not ended.
func (c *Config) engines(ctx context.Context, namespace, archiver string) (n int, err error) {
	var pods corev1.PodList
	err = c.Client.List(ctx, &pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, client.MatchingLabels{
		v1alpha1.LabelArchiver: archiver, v1alpha1.LabelComponent: v1alpha1.ComponentEngine,
	})
	if err != nil {
		return 0, fmt.Errorf("listing engine pods: %w", err)
	}
	for i := range pods.Items {
		if phase := pods.Items[i].Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			n++
		}
	}
	return n, nil
}

// jobs returns the Jobs of an object by their verbs. label is the label with the name of the object.
func (c *Config) jobs(ctx context.Context, of client.Object, label string) (map[string]plan.Job, error) {
	ours := []client.ListOption{client.InNamespace(of.GetNamespace()), client.MatchingLabels{label: of.GetName()}, client.UnsafeDisableDeepCopy}
	var jobs batchv1.JobList
	if err := c.Client.List(ctx, &jobs, ours...); err != nil {
		return nil, fmt.Errorf("listing Jobs: %w", err)
	}
	var pods corev1.PodList
	if err := c.Client.List(ctx, &pods, ours...); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	found := map[string]plan.Job{}
	for i := range jobs.Items {
		j := &jobs.Items[i]
		verb := j.Labels[v1alpha1.LabelBackupVerb]
		if j.Name == render.BackupJobName(of, verb) {
			found[verb] = plan.ObserveJob(j, pods.Items, c.Now())
		}
	}
	return found, nil
}

// conflict returns a function that says why a Job must wait for another one. It asks the API server, because the cache may
// not have a Job that was created a moment ago. Its errors are in err.
func (c *Config) conflict(ctx context.Context, namespace, archiver string, d *v1alpha1.BackupDestination, err *error) func(verb string) string {
	return func(verb string) string {
		var jobs batchv1.JobList
		if *err = c.API.List(ctx, &jobs, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelBackupVerb}); *err != nil {
			*err = fmt.Errorf("listing Jobs about backups: %w", *err)
			return ""
		}
		place, _ := render.BackupPlace(archiver, d)
		return plan.Conflict(plan.Use{Verb: verb, Archiver: archiver, Place: place}, jobs.Items)
	}
}

// start creates a Job. refused is the message of the API server if it rejects the Job until somebody changes something.
func (c *Config) start(ctx context.Context, job *batch.JobApplyConfiguration) (refused error, err error) {
	err = c.Client.Apply(ctx, job, client.FieldOwner(v1alpha1.FieldManager), client.ForceOwnership)
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err):
		return err, nil
	case err != nil:
		return nil, fmt.Errorf("creating Job %s: %w", *job.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("created Job", "job", *job.Name)
	return nil, nil
}

// discard deletes a Job with its pods.
func (c *Config) discard(ctx context.Context, namespace, name string) error {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := c.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Job %s: %w", name, err)
	}
	return nil
}

// named returns requests for the object that a label names. Jobs and pods have such labels.
func named(label string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		name := o.GetLabels()[label]
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
	})
}
