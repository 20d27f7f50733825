package controllers

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/identity"
	"varve.dev/varve/controllers/archiver"
	"varve.dev/varve/controllers/backup"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/group"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/controllers/policy"
	"varve.dev/varve/controllers/render"
	"varve.dev/varve/controllers/shards"
	"varve.dev/varve/groups/channelfinder"
)

// Options are the settings of the operator process.
type Options struct {
	// Image is the image of Archivers that do not name an image.
	Image string
	// Namespaces are the namespaces that the operator watches. If it is empty, the operator
	// watches all namespaces.
	Namespaces []string
	// CassandraNamespaces are the namespaces of cass-operator and k8ssandra-operator. It is empty if they are
	// unknown.
	CassandraNamespaces []string
	// LoopbackChannelFinder allows ChannelFinder services on the machine or in the pod of the operator.
	LoopbackChannelFinder bool
	// LeaderElect makes one of several operators the leader. The other operators stand by.
	LeaderElect bool
	// Identity is the operator with its certificate for engines that require one. It is nil if the operator has
	// none.
	Identity *identity.Party
	// Pod and PodNamespace are the name and namespace of the operator's pod. They are empty
	// outside of a cluster.
	Pod, PodNamespace string
	// Metrics and Probes are the addresses of the HTTP servers; "0" disables a server.
	Metrics, Probes string
	Log             logr.Logger
}

// leaderElectionID is the name of the Lease in the operator's namespace.
const leaderElectionID = "varve-operator"

// renewDeadline is how long the API server may be unreachable before the leader steps
// down.
const renewDeadline = 10 * time.Second

// leaderLock returns a lock whose holder is the name of the pod. A pod name is unique, so a
// container that restarts after a crash leads again at once instead of waiting for its own
// Lease to expire. Without a pod, leaderLock returns nil, and the holder is a unique name for
// each process.
func leaderLock(cfg *rest.Config, o *Options) (resourcelock.Interface, error) {
	if !o.LeaderElect || o.Pod == "" || o.PodNamespace == "" {
		return nil, nil
	}
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, o.PodNamespace, leaderElectionID,
		resourcelock.ResourceLockConfig{Identity: o.Pod}, cfg, renewDeadline)
	if err != nil {
		return nil, fmt.Errorf("creating the lock of the leader: %w", err)
	}
	return lock, nil
}

// NewManager returns a manager without reconcilers. Its cache contains only objects that the
// operator reads.
func NewManager(cfg *rest.Config, o Options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	own := rest.CopyConfig(cfg)
	own.QPS = -1 // an edit may write all shards and their lists; the API server enforces fairness
	lock, err := leaderLock(own, &o)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(own, ctrl.Options{
		Scheme:                              scheme,
		Logger:                              o.Log,
		Cache:                               CacheOptions(o.Namespaces),
		Metrics:                             server.Options{BindAddress: o.Metrics},
		HealthProbeBindAddress:              o.Probes,
		LeaderElection:                      o.LeaderElect,
		LeaderElectionID:                    leaderElectionID,
		LeaderElectionResourceLockInterface: lock,
		RenewDeadline:                       new(renewDeadline),
		LeaderElectionReleaseOnCancel:       true,
		GracefulShutdownTimeout:             new(10 * time.Second),
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the operator: %w", err)
	}
	for _, add := range []func(string, healthz.Checker) error{mgr.AddHealthzCheck, mgr.AddReadyzCheck} {
		if err := add("ping", healthz.Ping); err != nil {
			return nil, fmt.Errorf("setting up probes: %w", err)
		}
	}
	return mgr, nil
}

// CacheOptions returns options that limit the operator's cache to its own objects, because a
// cluster may have many other pods and ConfigMaps.
func CacheOptions(namespaces []string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelManagedBy: render.ManagedBy})}
	marked, err := labels.NewRequirement(v1alpha1.LabelChannels, selection.Exists, nil)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	by := map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {Label: labels.NewSelector().Add(*marked)},
		&corev1.Pod{}:       {Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelName: "varve"})},
	}
	for o := range archiver.ChildKinds() {
		by[o] = ours
	}
	options := cache.Options{ByObject: by}
	if len(namespaces) > 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
		for _, n := range namespaces {
			options.DefaultNamespaces[n] = cache.Config{}
		}
	}
	return options
}

// Setup adds the reconcilers and their observers: the fleet of engines and the poller of
// ChannelFinder services.
func Setup(mgr ctrl.Manager, o Options) error {
	engines := fleet.New(fleet.Config{
		Pods: mgr.GetClient(), API: mgr.GetAPIReader(), Namespaces: o.Namespaces,
		Identity: o.Identity, Log: o.Log.WithName("fleet"), Registerer: metrics.Registry,
	})
	outcomes := &outcome.Latest{}
	recorder := mgr.GetEventRecorder("varve-operator")

	placer := &shards.Reconciler{
		Client: mgr.GetClient(), API: mgr.GetAPIReader(), Fleet: engines,
		Outcomes: outcomes, Recorder: recorder, Registerer: metrics.Registry,
	}
	service := channelfinder.NewRestrictedClient(channelFinderAddresses(mgr.GetConfig().Host, o.LoopbackChannelFinder))
	poller := channelfinder.NewPoller(service.Names, placer.ChannelFinderChanged)
	placer.ChannelFinder = poller

	for _, r := range []manager.Runnable{engines, poller} {
		if err := mgr.Add(r); err != nil {
			return fmt.Errorf("setting up the operator: %w", err)
		}
	}
	for _, r := range []interface{ SetupWithManager(ctrl.Manager) error }{
		placer,
		&archiver.Reconciler{
			Client: mgr.GetClient(), API: mgr.GetAPIReader(), Fleet: engines,
			Outcomes: outcomes, Recorder: recorder, Registerer: metrics.Registry, Image: o.Image,
			Namespace: o.PodNamespace, CassandraNamespaces: o.CassandraNamespaces,
		},
		&group.Reconciler{Client: mgr.GetClient(), Fleet: engines, Outcomes: outcomes, Recorder: recorder, Registerer: metrics.Registry},
		&policy.Reconciler{Client: mgr.GetClient(), Outcomes: outcomes, Recorder: recorder},
	} {
		if err := r.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("setting up the operator: %w", err)
		}
	}
	err := backup.Setup(mgr, backup.Config{
		Client: mgr.GetClient(), API: mgr.GetAPIReader(), Recorder: recorder, Registerer: metrics.Registry, Image: o.Image,
	})
	if err != nil {
		return fmt.Errorf("setting up the operator: %w", err)
	}
	return nil
}
