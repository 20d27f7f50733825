package shards

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/controllers/placement"
	"varve.dev/varve/controllers/wakeup"
)

// +kubebuilder:rbac:groups=varve.dev,resources=archivers,verbs=get;list;watch
// +kubebuilder:rbac:groups=varve.dev,resources=archivegroups,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=varve.dev,resources=archivegroups/finalizers,verbs=update
// +kubebuilder:rbac:groups=varve.dev,resources=archiveshards,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups=varve.dev,resources=archiveshards/status,verbs=get;patch;update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;list
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=archivegroups.varve.dev,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// unsettledInterval is how often is looked again for what is not there: a
	// ConfigMap without its label makes no events.
	unsettledInterval = 30 * time.Second
	// costHalfLife is how long half of a change of load takes to be believed, and
	// placeInterval how often is looked whether the load is even.
	costHalfLife  = 2 * time.Minute
	placeInterval = 30 * time.Second
)

// moveLimits are those of one Archiver. Each move costs IOCs a second subscription
// for a while.
var moveLimits = placement.Limits{
	AtOnce: 8, PerMinute: 60, Rest: 5 * time.Minute, Join: 2 * time.Minute, Avoid: 10 * time.Minute,
}

// Reconciler turns the groups of an Archiver into ArchiveShards and their
// channel lists, and gives them to engines.
type Reconciler struct {
	// Client reads from a cache; API asks the API server.
	Client client.Client
	API    client.Reader

	Fleet         *fleet.Fleet
	ChannelFinder ChannelFinder
	Outcomes      *outcome.Latest
	Recorder      events.EventRecorder
	Registerer    prometheus.Registerer
	// Limits of moves; without any moveLimits.
	Limits placement.Limits

	metrics *shardsMetrics
	found   wakeup.Broadcaster // Archivers for which a ChannelFinder has another answer
	// known has what is remembered of each Archiver. There is one worker only.
	known map[types.NamespacedName]*archive
}

// ChannelFinder has the latest answers of ChannelFinder services.
type ChannelFinder interface {
	// Names returns the names that a query gave last, which must not be changed.
	// known is false before the first answer; err says why there is no newer one.
	Names(url, query string) (names []string, known bool, err error)
}

// Reconcile brings the shards of one Archiver up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	in, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if in.archiver == nil {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, r.releaseGroups(ctx, in)
	}
	known := r.remember(req.NamespacedName)
	if known.writes.behind(in.shards) {
		return ctrl.Result{RequeueAfter: behindInterval}, nil
	}
	made, err := r.compile(ctx, in, known)
	if err != nil {
		return ctrl.Result{}, err
	}
	left := known.release(in, made, time.Now())
	placed, orders := r.place(in, made, known)

	if err := r.writeLists(ctx, in, made); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.writeShards(ctx, in, made, orders, &known.writes); err != nil {
		return ctrl.Result{}, err
	}
	r.tellMoves(in, known, placed)
	wait, err := r.prune(ctx, in, made, known)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.guardGroups(ctx, in, made); err != nil {
		return ctrl.Result{}, err
	}
	r.publish(req.NamespacedName, in, made, placed, known)
	return ctrl.Result{RequeueAfter: earliest(wait, left, made.next(time.Now()), placeInterval)}, nil
}

// earliest returns the shortest wait; zero is none.
func earliest(waits ...time.Duration) (out time.Duration) {
	for _, w := range waits {
		if w > 0 && (out == 0 || w < out) {
			out = w
		}
	}
	return out
}
