// Package fleet observes the engines of every Archiver: their pods, their signs of life, and
// their reports.
//
//	pods ─── cache ─────────────────────────┐
//	Leases ─ list, every 2 s ─▶ clocks ─────┼─▶ Engines ──▶ placement, status
//	engines ─ GET /internal/report, 10 s ───┘      ▲
//	                 └── Changes, Reports ──▶ reconcilers
//
// The package does not trust the time in a Lease. An engine is dead if its Lease has not changed
// for leaseExpiry, by the operator's own clock. If more than leaseGap passes between two lists
// of the Leases, this time starts again. Therefore an unreachable API server does not make an
// engine dead.
package fleet

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/identity"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/wakeup"
)

// Engine is one engine pod as the operator sees it.
type Engine struct {
	// Name is the name of the pod, and of the engine.
	Name string
	// Node and Zone are the node and zone of the pod. They are empty if the pod is not
	// scheduled or if they are unknown.
	Node, Zone string
	// CPU is the pod's CPU limit in cores, or its CPU request if it has no limit. It is 0 if
	// the pod has neither.
	CPU float64
	// Ready reports whether the pod is ready and the engine has a Lease.
	Ready bool
	// Deleting reports whether the pod is being deleted.
	Deleting bool
	// Dead reports whether another engine must take over, because the engine has not renewed
	// its Lease for leaseExpiry. An engine without a Lease is neither ready nor dead.
	Dead bool
	// Report is the latest report. It is nil before the first report, and if the report is too
	// old.
	Report *report.Report
}

// Leaving reports whether the engine is shutting down, so that other engines must take over
// its shards.
func (e Engine) Leaving() bool {
	return e.Deleting || (e.Report != nil && e.Report.Draining)
}

// Usable reports whether the engine can get shards.
func (e Engine) Usable() bool { return e.Ready && !e.Dead && !e.Leaving() }

// Config has the dependencies and settings of a Fleet.
type Config struct {
	// Pods reads pods from a cache that has at least the pods with v1alpha1.LabelArchiver.
	Pods client.Reader
	// API reads Leases and nodes from the API server.
	API client.Reader
	// Namespaces are the namespaces to observe. If it is empty, all namespaces are observed.
	Namespaces []string
	// Fetch gets the report of an engine from the internal port of its pod. The default is HTTP.
	Fetch func(ctx context.Context, pod *corev1.Pod) (*report.Report, error)
	// Identity is the operator with its certificate for engines that use TLS. It is nil if the operator has none.
	Identity *identity.Party

	Log        logr.Logger
	Registerer prometheus.Registerer
}

// Fleet observes engines. It is a Runnable that a manager starts on the leader only.
type Fleet struct {
	cfg     Config
	metrics *metrics
	clients *clients

	mu      sync.Mutex
	synced  bool
	engines map[types.NamespacedName]*engine // by pod
	nodes   nodes
	listed  time.Time // when Leases were last listed; zero if that failed

	changes, reports wakeup.Broadcaster
}

// engine is the state of an engine, except its pod.
type engine struct {
	archiver types.NamespacedName
	lease    clock
	report   *report.Report
	reported time.Time
}

// New returns a Fleet. It knows no engines before Start.
func New(cfg Config) *Fleet {
	c := newClients(cfg.Identity)
	if cfg.Fetch == nil {
		cfg.Fetch = c.fetch
	}
	if len(cfg.Namespaces) == 0 {
		cfg.Namespaces = []string{""}
	}
	return &Fleet{cfg: cfg, metrics: newMetrics(cfg.Registerer), clients: c, engines: map[types.NamespacedName]*engine{}}
}

// NeedLeaderElection returns true: only the leader polls engines.
func (f *Fleet) NeedLeaderElection() bool { return true }

// Start observes engines until ctx ends.
func (f *Fleet) Start(ctx context.Context) error {
	f.pollLeases(ctx)
	f.pollReports(ctx)
	f.markSynced()
	var g errgroup.Group
	g.Go(func() error { every(ctx, leaseInterval, f.pollLeases); return nil })
	g.Go(func() error { every(ctx, reportInterval, f.pollReports); return nil })
	defer f.clients.keep(nil)
	return g.Wait()
}

// every calls do once per interval until ctx ends.
func every(ctx context.Context, interval time.Duration, do func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do(ctx)
		}
	}
}

// markSynced records that the operator has requested a report from every engine, and wakes all
// Archivers.
func (f *Fleet) markSynced() {
	f.mu.Lock()
	f.synced = true
	archivers := f.archiversLocked()
	f.mu.Unlock()
	for _, archiver := range archivers {
		f.changes.Wake(archiver)
		f.reports.Wake(archiver)
	}
}

// Synced reports whether the operator has requested a report from every engine at least once.
// Before that, the result of Engines may lack reports.
func (f *Fleet) Synced() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.synced
}

// Engines returns the engines of an Archiver whose pod has not ended, sorted by name. The
// caller must not change their reports.
func (f *Fleet) Engines(ctx context.Context, archiver types.NamespacedName) ([]Engine, error) {
	pods, err := f.pods(ctx, client.InNamespace(archiver.Namespace),
		client.MatchingLabels{v1alpha1.LabelArchiver: archiver.Name})
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Engine, 0, len(pods))
	for i := range pods {
		out = append(out, f.engineLocked(&pods[i], time.Now()))
	}
	return out, nil
}

// engineLocked returns the engine of a pod.
func (f *Fleet) engineLocked(pod *corev1.Pod, now time.Time) Engine {
	out := Engine{
		Name:     pod.Name,
		Node:     pod.Spec.NodeName,
		Zone:     f.nodes.zone(pod.Spec.NodeName),
		CPU:      cpu(pod),
		Deleting: pod.DeletionTimestamp != nil,
	}
	if known := f.engines[client.ObjectKeyFromObject(pod)]; known != nil {
		out.Ready, out.Dead = ready(pod) && known.lease.seen(), known.lease.dead
		if known.report != nil && now.Sub(known.reported) <= reportKept {
			out.Report = known.report
		}
	}
	return out
}

// pods returns the engine pods that have not ended, sorted by namespace and name. The object
// of an evicted pod still exists, but the pod no longer has a container.
func (f *Fleet) pods(ctx context.Context, opts ...client.ListOption) ([]corev1.Pod, error) {
	var list corev1.PodList
	opts = append(opts, client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentEngine})
	if err := f.cfg.Pods.List(ctx, &list, opts...); err != nil {
		return nil, err
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
	})
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return compareKeys(&a, &b) })
	return pods, nil
}

// ready reports whether a pod is ready.
func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// cpu adds up the CPU limits of the containers, or their requests.
func cpu(pod *corev1.Pod) (cores float64) {
	for i := range pod.Spec.Containers {
		r := &pod.Spec.Containers[i].Resources
		q, limited := r.Limits[corev1.ResourceCPU]
		if !limited {
			q = r.Requests[corev1.ResourceCPU]
		}
		cores += q.AsApproximateFloat64()
	}
	return cores
}

// archiversLocked returns the Archivers that have engines.
func (f *Fleet) archiversLocked() []types.NamespacedName {
	set := map[types.NamespacedName]bool{}
	for _, e := range f.engines {
		set[e.archiver] = true
	}
	return keys(set)
}

// Differs reports whether the change from one version of a pod to another matters for
// placement.
func Differs(a, b *corev1.Pod) bool {
	return ready(a) != ready(b) || a.Status.Phase != b.Status.Phase || a.Spec.NodeName != b.Spec.NodeName ||
		(a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) ||
		a.Labels[v1alpha1.LabelArchiver] != b.Labels[v1alpha1.LabelArchiver]
}
