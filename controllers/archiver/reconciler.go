package archiver

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/archiverstatus"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/controllers/render"
	"varve.dev/varve/controllers/status"
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
// +kubebuilder:rbac:groups=cert-manager.io,resources=certificates,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups=cassandra.datastax.com,resources=cassandradatacenters,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups=k8ssandra.io,resources=k8ssandraclusters,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// The operator grants these rights to engines and retrieval pods, so it must have
// them itself.
//
// +kubebuilder:rbac:groups=varve.dev,resources=archiveshards/status,verbs=get;patch;update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update

// unreadyInterval is how often an Archiver that is not ready is reconciled without an event.
// The cause may be visible only in events of pods, or may disappear when a quota changes.
const unreadyInterval = 15 * time.Second

// Reconciler turns an Archiver into its objects and writes its status.
type Reconciler struct {
	// Client reads from a cache. API reads from the API server.
	Client client.Client
	API    client.Reader

	Fleet    *fleet.Fleet
	Outcomes *outcome.Latest
	Recorder events.EventRecorder
	// Registerer registers the metrics of Archivers.
	Registerer prometheus.Registerer
	// Image is the image of Archivers that do not name an image.
	Image string
	// Namespace is the namespace of the operator. It is empty outside of a cluster.
	Namespace string
	// CassandraNamespaces are the namespaces of cass-operator and k8ssandra-operator. It is empty if they are
	// unknown.
	CassandraNamespaces []string

	children children
	monitors optionalKind
	issued   optionalKind
	secrets  cassandraSecrets
	written  status.Pace
	costs    status.Pace
	metrics  archiverMetrics
}

// Reconcile brings the objects and the status of one Archiver up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	a := &v1alpha1.Archiver{}
	if err := r.Client.Get(ctx, req.NamespacedName, a); err != nil {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if a.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // the garbage collector deletes what the Archiver owns
	}

	live, err := listChildren(ctx, r.Client, a)
	if err != nil {
		return ctrl.Result{}, err
	}
	monitored, err := r.monitors.list(ctx, r.Client, serviceMonitor, a, live)
	if err != nil {
		return ctrl.Result{}, err
	}
	tls, err := r.internalTLS(ctx, a, live)
	if err != nil {
		return ctrl.Result{}, err
	}
	dc, err := r.managedCassandra(ctx, a, live)
	if err != nil {
		return ctrl.Result{}, err
	}
	restore, err := restoring(ctx, r.Client, a)
	if err != nil {
		return ctrl.Result{}, err
	}
	rendered := render.Input{
		Archiver: a, Image: r.Image, HasServiceMonitor: monitored, HasCertificate: tls.has, HoldInternalTLS: tls.hold, Datacenter: dc.Rendered(a, schemaJobs(live)...),
		OperatorNamespace: r.Namespace, CassandraOperatorNamespaces: r.CassandraNamespaces, Restore: restore,
	}
	now, err := stage(a, render.Archiver(rendered), live)
	if err != nil {
		return ctrl.Result{}, err
	}
	in, err := r.observe(ctx, a)
	if err != nil {
		return ctrl.Result{}, err
	}
	in.Datacenter, in.Step, in.InternalTLS, in.Templates, in.Restore = dc, now.step, tls.state, now.templates, restore
	useObjects(&in, live)
	in.Finalization = archiverstatus.Finalize(&in)
	now.wanted = append(now.wanted, finalizeJob(rendered, in.Finalization)...)
	in.Refused, err = r.children.apply(ctx, r.Client, a, now.wanted, live)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := prune(ctx, r.Client, now, live); err != nil {
		return ctrl.Result{}, err
	}

	useObjects(&in, live)
	next := archiverstatus.Compute(in)
	r.metrics.observe(req.NamespacedName, &in, next.Conditions)
	if err := r.writeStatus(ctx, a, next); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.writeCosts(ctx, a, &in); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: requeueAfter(a, next.Conditions)}, nil
}

// forget drops the state of an Archiver that no longer exists.
func (r *Reconciler) forget(name types.NamespacedName) {
	r.children.forget(name)
	r.written.Forget(name)
	r.costs.Forget(name)
	r.secrets.forget(name)
	r.metrics.forget(name)
}
