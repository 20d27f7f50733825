package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/archiverstatus"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/render"
)

// +kubebuilder:rbac:groups=varve.dev,resources=archivers,verbs=get;list;watch
// +kubebuilder:rbac:groups=varve.dev,resources=archivers/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=varve.dev,resources=archivers/finalizers,verbs=update
// +kubebuilder:rbac:groups=varve.dev,resources=archiveshards,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups="",resources=services;serviceaccounts,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;patch;update
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=servicemonitors,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups=cassandra.datastax.com,resources=cassandradatacenters,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups=k8ssandra.io,resources=k8ssandraclusters,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// The operator grants these to engines and retrieval pods, so it must have them.
//
// +kubebuilder:rbac:groups=varve.dev,resources=archiveshards/status,verbs=get;patch;update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update

// unreadyInterval is how often an Archiver is looked at that is not ready: what
// is wrong with it may show in events of pods only, or be mended in a quota.
const unreadyInterval = 15 * time.Second

// ArchiverReconciler turns an Archiver into the objects that it is made of, and
// says how they are doing.
type ArchiverReconciler struct {
	// Client reads from a cache; API asks the API server.
	Client client.Client
	API    client.Reader

	Fleet    *fleet.Fleet
	Outcomes *Outcomes
	// Compiled wakes an Archiver whose groups have another outcome.
	Compiled *Wakeups
	Recorder events.EventRecorder
	// Registerer takes the metrics of Archivers.
	Registerer prometheus.Registerer
	// Image of Archivers that name none.
	Image string

	children children
	monitors serviceMonitors
	secrets  cassandraSecrets
	written  pace
	costs    pace
	metrics  archiverMetrics
}

// Reconcile makes one Archiver what its spec says.
func (r *ArchiverReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	a := &v1alpha1.Archiver{}
	if err := r.Client.Get(ctx, req.NamespacedName, a); err != nil {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if a.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // garbage collection takes what the Archiver owns
	}

	live, err := listChildren(ctx, r.Client, a)
	if err != nil {
		return ctrl.Result{}, err
	}
	monitored, err := r.monitors.list(ctx, r.Client, a, live)
	if err != nil {
		return ctrl.Result{}, err
	}
	dc, err := r.managedCassandra(ctx, a, live)
	if err != nil {
		return ctrl.Result{}, err
	}
	wanted := render.Archiver(render.Input{Archiver: a, Image: r.Image, HasServiceMonitor: monitored, Datacenter: dc.Rendered(a, schemaJobs(live)...)})
	refused, err := r.children.apply(ctx, r.Client, a, wanted, live)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := prune(ctx, r.Client, wanted, live); err != nil {
		return ctrl.Result{}, err
	}

	in, err := r.observe(ctx, a, live)
	if err != nil {
		return ctrl.Result{}, err
	}
	in.Refused, in.Datacenter = refused, dc
	r.metrics.observe(req.NamespacedName, &in)
	status := archiverstatus.Compute(in)
	if err := r.writeStatus(ctx, a, status); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.writeCosts(ctx, a, &in); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: requeueAfter(a, status.Conditions)}, nil
}

// forget drops what is remembered of an Archiver that is gone.
func (r *ArchiverReconciler) forget(name types.NamespacedName) {
	r.children.forget(name)
	r.written.forget(name)
	r.costs.forget(name)
	r.metrics.forget(name)
}

// schemaJobs are those of an Archiver that are not about to go, the newest one last.
func schemaJobs(live map[childKey]client.Object) (jobs []*batchv1.Job) {
	for _, o := range live {
		if job, ok := o.(*batchv1.Job); ok && job.DeletionTimestamp == nil {
			jobs = append(jobs, job)
		}
	}
	slices.SortFunc(jobs, func(a, b *batchv1.Job) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return jobs
}

// observe gathers what the status is made of.
func (r *ArchiverReconciler) observe(ctx context.Context, a *v1alpha1.Archiver, live map[childKey]client.Object) (archiverstatus.Input, error) {
	in := archiverstatus.Input{Archiver: a, Settled: r.Fleet.Synced(), Now: time.Now()}
	in.Engines, _ = live[childKey{"Deployment", render.EngineName(a.Name)}].(*appsv1.Deployment)
	in.Retrieval, _ = live[childKey{"Deployment", render.RetrievalName(a.Name)}].(*appsv1.Deployment)
	in.Autoscaler, _ = live[childKey{"HorizontalPodAutoscaler", render.EngineName(a.Name)}].(*autoscalingv2.HorizontalPodAutoscaler)
	for _, job := range schemaJobs(live) {
		in.Schema = job
	}
	name := client.ObjectKeyFromObject(a)
	ours := []client.ListOption{client.InNamespace(a.Namespace), client.MatchingLabels{v1alpha1.LabelArchiver: a.Name}, client.UnsafeDisableDeepCopy}
	var pods corev1.PodList
	var shards v1alpha1.ArchiveShardList
	var err error
	if err = r.Client.List(ctx, &pods, ours...); err != nil {
		return in, fmt.Errorf("listing pods: %w", err)
	}
	if err = r.Client.List(ctx, &shards, ours...); err != nil {
		return in, fmt.Errorf("listing shards: %w", err)
	}
	if in.Fleet, err = r.Fleet.Engines(ctx, name); err != nil {
		return in, fmt.Errorf("listing engines: %w", err)
	}
	in.Pods, in.Shards = pods.Items, shards.Items
	in.Mounts = failedMounts(ctx, r.API, in.Pods, in.Now)
	if o := r.Outcomes.Get(name); o != nil {
		in.Unplaced, in.Moving, in.Moves = o.Unplaced, o.Moving, o.Moves.status()
	}
	return in, nil
}

// writeStatus writes what has changed, and makes events of it.
func (r *ArchiverReconciler) writeStatus(ctx context.Context, a *v1alpha1.Archiver, status v1alpha1.ArchiverStatus) error {
	name := client.ObjectKeyFromObject(a)
	if !archiverstatus.Changed(a.Status, status, r.written.since(name)) {
		return nil
	}
	old := a.DeepCopy()
	a.Status = &status
	err := r.Client.Status().Patch(ctx, a, client.MergeFrom(old), client.FieldOwner(v1alpha1.FieldManager))
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("writing the status: %w", err)
	}
	r.written.wrote(name)
	var before []metav1.Condition
	if old.Status != nil {
		before = old.Status.Conditions
	}
	recordTransitions(r.Recorder, a, before, status.Conditions)
	return nil
}
