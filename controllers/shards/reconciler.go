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
// +kubebuilder:rbac:groups=varve.dev,resources=archivepolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=varve.dev,resources=archiveshards,verbs=get;list;watch;create;patch;update;delete
// +kubebuilder:rbac:groups=varve.dev,resources=archiveshards/status,verbs=get;patch;update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;list
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=archivegroups.varve.dev;archivepolicies.varve.dev,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// recheckInterval is how often missing sources are rechecked, because a ConfigMap without
	// the label of channel sources does not cause events.
	recheckInterval = 30 * time.Second
	// costHalfLife is the half-life with which measured loads are smoothed.
	// placeInterval is how often the placement is recomputed without an event.
	costHalfLife  = 2 * time.Minute
	placeInterval = 30 * time.Second
	// leaveLimit is shorter than the 30 s for which an engine that shuts down waits without any
	// change to its shards.
	leaveLimit = 20 * time.Second
)

// defaultLimits are the limits of moves per Archiver. They bound the load on IOCs, which serve
// a second subscription for each PV of a moving shard.
var defaultLimits = placement.Limits{
	AtOnce: 8, PerMinute: 60, Rest: 5 * time.Minute, Join: 2 * time.Minute, Avoid: 10 * time.Minute,
	Leave: leaveLimit, Blind: 30 * time.Second,
}

// Reconciler turns the groups of an Archiver into ArchiveShards and their channel
// lists, and assigns the shards to engines.
type Reconciler struct {
	// Client reads from a cache. API reads from the API server.
	Client client.Client
	API    client.Reader

	Fleet         *fleet.Fleet
	ChannelFinder ChannelFinder
	Outcomes      *outcome.Latest
	Recorder      events.EventRecorder
	Registerer    prometheus.Registerer
	// Limits bound moves. The zero value means defaultLimits.
	Limits placement.Limits

	metrics *shardsMetrics
	answers wakeup.Broadcaster // wakes Archivers for which a ChannelFinder has a new answer
	// known has the memory of each Archiver. It needs no lock, because there is only one
	// worker.
	known map[types.NamespacedName]*memory
}

// ChannelFinder returns the latest answers of ChannelFinder services.
type ChannelFinder interface {
	// Names returns the names of the latest answer to a query. The caller must not change
	// them. known is false before the first answer. err is the reason why there is no newer
	// answer.
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
	known := r.memoryOf(req.NamespacedName)
	if known.writes.cacheBehind(in.shards) {
		return ctrl.Result{RequeueAfter: cacheInterval}, nil
	}
	compiled, err := r.compile(ctx, in, known)
	if err != nil {
		return ctrl.Result{}, err
	}
	untilReady := known.releaseLeaving(in, compiled, time.Now())
	untilForgotten := in.updateFormer(compiled, time.Now())
	compiled.orderDeletions()
	placed, orders := r.place(in, compiled, known)

	if err := r.writeLists(ctx, in, compiled); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.writeShards(ctx, in, compiled, orders, &known.writes); err != nil {
		return ctrl.Result{}, err
	}
	r.recordMoves(in, known, placed)
	untilUnused, err := r.prune(ctx, in, compiled, known)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.updateFinalizers(ctx, in, compiled); err != nil {
		return ctrl.Result{}, err
	}
	r.publish(req.NamespacedName, in, compiled, placed, known)
	return ctrl.Result{RequeueAfter: shortest(untilUnused, untilReady, untilForgotten, compiled.untilChange(time.Now()), placeInterval)}, nil
}

// shortest returns the shortest of several waits. A wait of zero does not count.
func shortest(waits ...time.Duration) (out time.Duration) {
	for _, w := range waits {
		if w > 0 && (out == 0 || w < out) {
			out = w
		}
	}
	return out
}
