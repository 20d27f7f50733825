package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers"
	"varve.dev/varve/controllers/fleet"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/controllers/shards"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/groups/channellist"
	"varve.dev/varve/groups/compile"
)

// shardsFixture is a namespace with a shards reconciler and simulated engines. The engines
// renew their Leases, report, and update the status of shards as the agent does.
type shardsFixture struct {
	namespace string
	fleet     *fleet.Fleet
	outcomes  *outcome.Latest
	finder    *simulatedFinder
	writes    *writes // requests of the reconciler

	// changed gets a value after a change of a shard or of an engine, upon which engines act.
	changed chan struct{}

	mu      sync.Mutex
	engines map[string]*simulatedEngine // by pod
	renewed map[string]metav1.MicroTime // when each engine last renewed its Lease, by pod
	started int                         // engines, also those that are gone
}

func newShardsFixture(ctx SpecContext, changes ...func(*shards.Reconciler)) *shardsFixture {
	GinkgoHelper()
	p := &shardsFixture{
		namespace: newNamespace(ctx), changed: make(chan struct{}, 1),
		engines: map[string]*simulatedEngine{}, renewed: map[string]metav1.MicroTime{},
		finder: &simulatedFinder{}, writes: &writes{counts: map[string]int{}},
	}
	cfg := rest.CopyConfig(restConfig)
	cfg.Wrap(p.writes.count)
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Cache: controllers.CacheOptions([]string{p.namespace}), Logger: GinkgoLogr,
		Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	Expect(err).NotTo(HaveOccurred())
	f := fleet.New(fleet.Config{
		Pods: mgr.GetClient(), API: renewedLeases{mgr.GetAPIReader(), p}, Namespaces: []string{p.namespace}, Fetch: p.fetch,
		Log: logr.Discard(), Registerer: prometheus.NewRegistry(),
	})
	Expect(mgr.Add(f)).To(Succeed())
	p.fleet = f
	p.outcomes = &outcome.Latest{}
	r := &shards.Reconciler{
		Client: mgr.GetClient(), API: mgr.GetAPIReader(), Fleet: f, ChannelFinder: p.finder,
		Outcomes: p.outcomes, Recorder: mgr.GetEventRecorder("varve-operator"), Registerer: prometheus.NewRegistry(),
	}
	for _, change := range changes {
		change(r)
	}
	p.finder.changed = r.ChannelFinderChanged
	Expect(r.SetupWithManager(mgr)).To(Succeed())
	p.wakeAfterChanges(ctx, mgr)

	run, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		defer GinkgoRecover()
		Expect(mgr.Start(run)).To(Succeed())
	})
	running.Go(func() { p.play(run) })
	DeferCleanup(func() { cancel(); running.Wait() })
	return p
}

// writes counts a client's write requests by method and kind of object.
type writes struct {
	mu     sync.Mutex
	counts map[string]int
	bytes  int64
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (w *writes) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if kind := kindOf(req.URL.Path); req.Method != http.MethodGet && kind != "events" {
			w.mu.Lock()
			w.counts[req.Method+" "+kind]++
			w.bytes += max(req.ContentLength, 0)
			w.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

// kindOf returns the resource of a path …/namespaces/NAME/RESOURCE/….
func kindOf(path string) string {
	_, rest, _ := strings.Cut(path, "/namespaces/")
	parts := strings.Split(rest, "/")
	if len(parts) < 2 {
		return path
	}
	return parts[1]
}

// reset sets the counts to zero and returns the counts since the previous call.
func (w *writes) reset() (counts map[string]int, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts, bytes = w.counts, w.bytes
	w.counts, w.bytes = map[string]int{}, 0
	return counts, bytes
}

// quiet waits until the client has sent no writes for two seconds.
func (w *writes) quiet() {
	GinkgoHelper()
	var last time.Time
	seen := -1
	Eventually(func() bool {
		w.mu.Lock()
		n := 0
		for _, c := range w.counts {
			n += c
		}
		w.mu.Unlock()
		if n != seen {
			seen, last = n, time.Now()
		}
		return time.Since(last) > 2*time.Second
	}, time.Minute).Should(BeTrue())
}

// simulatedFinder is a ChannelFinder whose answers the test sets.
type simulatedFinder struct {
	mu      sync.Mutex
	names   []string
	known   bool
	changed func(url, query string)
}

func (f *simulatedFinder) Names(string, string) ([]string, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known {
		return nil, false, errors.New("no answer")
	}
	return f.names, true, nil
}

func (f *simulatedFinder) answer(url, query string, names ...string) {
	f.mu.Lock()
	f.names, f.known = names, true
	f.mu.Unlock()
	f.changed(url, query)
}

// shards returns all shards, sorted by name.
func (p *shardsFixture) shards(ctx context.Context) []v1alpha1.ArchiveShard {
	GinkgoHelper()
	var list v1alpha1.ArchiveShardList
	Expect(k8s.List(ctx, &list, client.InNamespace(p.namespace))).To(Succeed())
	return list.Items
}

// captured returns the sorted PVs of all lists in the specs of the shards. It returns nil
// while a list is missing.
func (p *shardsFixture) captured(ctx context.Context) (pvs []string) {
	GinkgoHelper()
	for _, s := range p.shards(ctx) {
		for _, l := range s.Spec.Lists {
			cm := &corev1.ConfigMap{}
			if k8s.Get(ctx, key(p.namespace, l.Name), cm) != nil {
				return nil // the list does not exist yet
			}
			channels, err := channellist.Decode(cm.BinaryData[v1alpha1.ChannelListKey])
			Expect(err).NotTo(HaveOccurred())
			for _, ch := range channels {
				pv := ch.PV
				if ch.Settings.Provider != capture.CA {
					pv = compile.Name(&ch)
				}
				pvs = append(pvs, pv)
			}
		}
	}
	slices.Sort(pvs)
	return pvs
}

// owners returns the engine of each shard, or nil unless exactly one engine captures each
// shard.
func (p *shardsFixture) owners(ctx context.Context) (owners []string) {
	GinkgoHelper()
	for _, s := range p.shards(ctx) {
		if len(s.Spec.Engines) != 1 || s.Status == nil || len(s.Status.Engines) != 1 || s.Status.Engines[0].Phase != v1alpha1.Capturing {
			return nil
		}
		owners = append(owners, s.Spec.Engines[0].Name)
	}
	return owners
}

// archiver creates the Archiver "main" with 8 shards.
func (p *shardsFixture) archiver(ctx context.Context) *v1alpha1.Archiver {
	GinkgoHelper()
	a := newArchiver(p.namespace, "main")
	a.Spec.Shards = 8
	return create(ctx, a)
}

// group creates a group of the PVs PREFIX0 to PREFIXn-1.
func (p *shardsFixture) group(ctx context.Context, name, prefix string, n int, change func(*v1alpha1.ArchiveGroupSpec)) *v1alpha1.ArchiveGroup {
	GinkgoHelper()
	g := &v1alpha1.ArchiveGroup{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
	g.Spec.ArchiverRef.Name = "main"
	for _, pv := range pvNames(prefix, n) {
		g.Spec.Channels = append(g.Spec.Channels, v1alpha1.Channel{Name: pv})
	}
	if change != nil {
		change(&g.Spec)
	}
	Expect(k8s.Create(ctx, g)).To(Succeed())
	return g
}

func pvNames(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s%04d", prefix, i))
	}
	return names
}

// configMap creates a ConfigMap that lists PVs.
func (p *shardsFixture) configMap(ctx context.Context, name string, pvs []string, labelled bool) *corev1.ConfigMap {
	GinkgoHelper()
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name},
		Data:       map[string]string{"pvs": strings.Join(pvs, "\n")},
	}
	if labelled {
		cm.Labels = map[string]string{v1alpha1.LabelChannels: "true"}
	}
	Expect(k8s.Create(ctx, cm)).To(Succeed())
	return cm
}

// fromConfigMaps adds ConfigMaps to the channel sources of a group.
func fromConfigMaps(names ...string) func(*v1alpha1.ArchiveGroupSpec) {
	return func(spec *v1alpha1.ArchiveGroupSpec) {
		for _, name := range names {
			spec.ChannelsFrom = append(spec.ChannelsFrom, v1alpha1.ChannelSource{ConfigMap: &v1alpha1.ConfigMapSource{Name: name}})
		}
	}
}
