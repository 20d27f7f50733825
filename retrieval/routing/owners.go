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
	"varve.dev/varve/cluster/mirror"
	"varve.dev/varve/engine/peer"
)

// Config of Owners.
type Config struct {
	Namespace, Archiver string
	// Shards is the number of shards of the Archiver.
	Shards int
	// Port of the engines.
	Port       int
	Client     client.WithWatch
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Owners knows which engines capture a PV, and asks them. It implements
// query.Recent and native.Channels. Create it with New and keep it up to date
// with Run; without, it knows nothing.
type Owners struct {
	cfg     Config
	metrics *metrics
	peers   peer.Client
	started time.Time
	wake    chan struct{} // holds one token: something has changed

	shards *mirror.Objects[*v1alpha1.ArchiveShard]
	pods   *mirror.Objects[*corev1.Pod]
	lists  *mirror.Lists[*names]
	atlas  atomic.Pointer[atlas]
	former former // of Run
	synced atomic.Bool
}

// New returns Owners that know nothing yet.
func New(cfg Config) *Owners {
	o := &Owners{cfg: cfg, metrics: newMetrics(cfg.Registerer), started: time.Now(), wake: make(chan struct{}, 1)}
	o.peers.HTTP = &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: time.Second, KeepAlive: 15 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, ResponseHeaderTimeout: 10 * time.Second,
	}}
	of := map[string]string{v1alpha1.LabelArchiver: cfg.Archiver}
	o.shards = mirror.NewObjects[*v1alpha1.ArchiveShard](cfg.Client, &v1alpha1.ArchiveShardList{},
		mirror.Select{Namespace: cfg.Namespace, Labels: of}, o.poke)
	o.pods = mirror.NewObjects[*corev1.Pod](cfg.Client, &corev1.PodList{}, mirror.Select{Namespace: cfg.Namespace, Labels: map[string]string{
		v1alpha1.LabelArchiver: cfg.Archiver, v1alpha1.LabelComponent: v1alpha1.ComponentEngine,
	}}, o.poke)
	o.lists = mirror.NewLists(cfg.Client, cfg.Namespace, decodeNames, o.poke, cfg.Log)
	o.atlas.Store(&atlas{})
	return o
}

func (o *Owners) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// settle is how long changes are gathered before the atlas is drawn again: they
// come in bursts.
const settle = 100 * time.Millisecond

// Run keeps the atlas up to date until ctx ends.
func (o *Owners) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, run := range []func(context.Context){o.shards.Run, o.pods.Run, o.lists.Run} {
		wg.Go(func() { run(ctx) })
	}
	defer wg.Wait()
	defer o.peers.HTTP.CloseIdleConnections()
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		o.draw()
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
		}
	}
}

// draw replaces the atlas.
func (o *Owners) draw() {
	shards, haveShards := o.shards.All()
	pods, havePods := o.pods.All()
	want := map[string]bool{}
	for name, obj := range shards {
		if obj.Spec.ArchiverRef.Name != o.cfg.Archiver {
			delete(shards, name)
			continue
		}
		for _, ref := range obj.Spec.Lists {
			want[ref.Name] = true
		}
	}
	if haveShards { // or nothing is known, which is not that there are none
		o.former.see(shards, func(name string) bool { _, ok, _ := o.lists.Get(name); return ok }, time.Now())
	}
	for _, lists := range o.former.had {
		for name := range lists {
			want[name] = true
		}
	}
	o.lists.Want(want)
	tried := true
	next := draw(shards, addressesOf(pods, o.cfg.Port), func(name string) (*names, bool) {
		n, ok, err := o.lists.Get(name)
		tried = tried && (ok || err != nil)
		return n, ok
	})
	next.remember(&o.former, func(name string) (*names, bool) { n, ok, _ := o.lists.Get(name); return n, ok })
	o.atlas.Store(next)
	o.metrics.draw(next)
	if haveShards && havePods && tried {
		o.synced.Store(true)
	}
}

// patience is how long a start waits for the API server: then reads are served
// from the store alone.
const patience = 10 * time.Second

// Ready returns why reads would miss what engines hold in memory; nil: they do
// not, or nothing can be done about it.
func (o *Owners) Ready() error {
	if !o.synced.Load() && time.Since(o.started) < patience {
		return errors.New("it is not known yet who captures what")
	}
	return nil
}

// Names yields the PVs that are to be captured, in no particular order.
func (o *Owners) Names() iter.Seq[string] { return o.atlas.Load().all() }
