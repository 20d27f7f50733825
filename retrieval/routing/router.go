package routing

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/identity"
	"varve.dev/varve/cluster/mirror"
	"varve.dev/varve/engine/clock"
	"varve.dev/varve/engine/peer"
)

// Config configures a Router.
type Config struct {
	Namespace, Archiver string
	// Shards is the Archiver's number of shards.
	Shards int
	// Port is the HTTP port of the engines.
	Port int
	// Dialer connects to engines with certificates. If it is nil, connections use no TLS.
	Dialer     *identity.Dialer
	Client     client.WithWatch
	Registerer prometheus.Registerer
	// Now returns the present instant. If it is nil, the clock of this machine counts as right.
	Now func() clock.Instant
	Log *slog.Logger
}

// Router knows which engines capture a PV, and queries them. It implements query.Recent
// and native.Channels. Create it with New. Run keeps it up to date; until Run is called
// it knows no engine.
type Router struct {
	cfg     Config
	metrics *metrics
	peers   peer.Client
	started time.Time
	wake    chan struct{} // holds one token: the table is outdated

	shards *mirror.Objects[*v1alpha1.ArchiveShard]
	pods   *mirror.Objects[*corev1.Pod]
	lists  *mirror.Lists[*pvSet]
	table  atomic.Pointer[table]
	former former // used by Run only
	synced atomic.Bool
	// recentTimeout is recentTimeout, or longer in tests.
	recentTimeout time.Duration
	// seen returns the time up to which the table has the changes of the API server, or the zero time.
	seen func() time.Time
}

// New returns a Router that knows no engines yet.
func New(cfg Config) *Router {
	r := &Router{cfg: cfg, metrics: newMetrics(cfg.Registerer), started: time.Now(), wake: make(chan struct{}, 1), recentTimeout: recentTimeout}
	if cfg.Now == nil {
		r.cfg.Now = clock.New(clock.Config{}).Now
	}
	tcp := net.Dialer{Timeout: time.Second, KeepAlive: 15 * time.Second}
	dial := tcp.DialContext
	if cfg.Dialer != nil {
		cfg.Dialer.Net = tcp
		dial = cfg.Dialer.DialContext
	}
	r.peers.HTTP = &http.Client{Transport: &http.Transport{
		DialContext:         dial,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, ResponseHeaderTimeout: 10 * time.Second,
	}}
	of := map[string]string{v1alpha1.LabelArchiver: cfg.Archiver}
	r.shards = mirror.NewObjects[*v1alpha1.ArchiveShard](cfg.Client, &v1alpha1.ArchiveShardList{},
		mirror.Select{Namespace: cfg.Namespace, Labels: of}, r.wakeUp)
	r.pods = mirror.NewObjects[*corev1.Pod](cfg.Client, &corev1.PodList{}, mirror.Select{Namespace: cfg.Namespace, Labels: map[string]string{
		v1alpha1.LabelArchiver: cfg.Archiver, v1alpha1.LabelComponent: v1alpha1.ComponentEngine,
	}}, r.wakeUp)
	r.lists = mirror.NewLists(cfg.Client, cfg.Namespace, decodePVSet, r.wakeUp, cfg.Log)
	r.table.Store(&table{})
	r.seen = func() time.Time {
		shards, pods := r.shards.Seen(), r.pods.Seen()
		if shards.Before(pods) {
			return shards
		}
		return pods
	}
	return r
}

func (r *Router) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// gatherChanges is how long the Router gathers changes before it rebuilds the table, because
// changes come in bursts.
const gatherChanges = 100 * time.Millisecond

// Run keeps the table up to date until ctx ends.
func (r *Router) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, run := range []func(context.Context){r.shards.Run, r.pods.Run, r.lists.Run} {
		wg.Go(func() { run(ctx) })
	}
	defer wg.Wait()
	defer r.peers.HTTP.CloseIdleConnections()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		r.rebuild()
		select {
		case <-ctx.Done():
			return
		case <-time.After(gatherChanges):
		}
	}
}

// rebuild replaces the table.
func (r *Router) rebuild() {
	shards, haveShards := r.shards.All()
	pods, havePods := r.pods.All()
	want := map[string]bool{}
	for name, obj := range shards {
		if obj.Spec.ArchiverRef.Name != r.cfg.Archiver {
			delete(shards, name)
			continue
		}
		for _, ref := range obj.Spec.Lists {
			want[ref.Name] = true
		}
		for _, f := range obj.Spec.Former {
			want[f.Name] = true
		}
	}
	if haveShards { // before the first list, an empty map does not mean that there are no shards
		r.former.observe(shards, func(name string) bool { _, ok, _ := r.lists.Get(name); return ok }, time.Now())
	}
	for _, lists := range r.former.had {
		for name := range lists {
			want[name] = true
		}
	}
	r.lists.Want(want)
	tried := true
	next := buildTable(shards, addressesOf(pods, r.cfg.Port), func(name string) (*pvSet, bool) {
		n, ok, err := r.lists.Get(name)
		tried = tried && (ok || err != nil)
		return n, ok
	})
	next.addFormer(&r.former, func(name string) (*pvSet, bool) { n, ok, _ := r.lists.Get(name); return n, ok })
	next.countFrom(r.table.Load())
	r.table.Store(next)
	r.metrics.setTable(next)
	if haveShards && havePods && tried {
		r.synced.Store(true)
	}
}

// startupGrace is how long a pod that starts waits for the API server. After that it
// serves reads from the store alone.
const startupGrace = 10 * time.Second

// Ready returns an error while reads would miss the samples that engines hold in memory. It
// returns nil once the engines are known, or when the API server has not answered for
// startupGrace.
func (r *Router) Ready() error {
	if !r.synced.Load() && time.Since(r.started) < startupGrace {
		return errors.New("the engines of the archive are not known yet: waiting for the API server")
	}
	return nil
}

// Names yields the PVs of all channel lists, in no particular order.
func (r *Router) Names() iter.Seq[string] { return r.table.Load().all() }

// Captures reports whether a channel list has a PV.
func (r *Router) Captures(pv string) bool {
	_, certain := r.table.Load().find(pv)
	return certain
}

// NamesVersion returns another number after each change of the set of PVs in the channel lists.
func (r *Router) NamesVersion() uint64 { return r.table.Load().version }
