package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	kube "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/engine/ca"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/client/clienttest"
	"varve.dev/varve/engine/spool"
	"varve.dev/varve/engine/store/cassandra/schema"
	"varve.dev/varve/groups/channellist"
	"varve.dev/varve/ioc"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/freeport"
)

func TestMain(m *testing.M) { cassandra.Main(m) }

const (
	podNamespace = "default"
	podShard     = "main-0000"
)

// site is an API server, an IOC, and the engine and retrieval pods of an Archiver, each with its
// own loopback address. The test acts as the operator.
type site struct {
	*WithT
	t          *testing.T
	api        kube.Client
	env        *envtest.Environment
	kubeconfig string
	port       int
	ioc        string
	storage    storageOptions
	drain      time.Duration // how long engines wait for another engine to take over
	pvs        []string
}

func newSite(t *testing.T, storage storageOptions) *site {
	p := &site{WithT: NewWithT(t), t: t, storage: storage, drain: time.Minute}
	p.SetDefaultEventuallyTimeout(3 * time.Minute)
	p.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	p.env = startAPIServer(t)
	logKubernetes(slog.New(slog.DiscardHandler))
	scheme := runtime.NewScheme()
	p.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	p.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	var err error
	p.api, err = kube.New(p.env.Config, kube.Options{Scheme: scheme})
	p.Expect(err).NotTo(HaveOccurred())
	p.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	p.Expect(os.WriteFile(p.kubeconfig, p.env.KubeConfig, 0o600)).To(Succeed())

	srv, err := ioc.New(ioc.Config{
		Listen: "127.0.0.1:0", Channels: 50, Rate: 20, Kinds: []string{"RAMP"}, Log: slog.New(slog.DiscardHandler),
		MaxLag: time.Minute, // on a busy machine, the IOC is late instead of dropping updates
	})
	p.Expect(err).NotTo(HaveOccurred())
	p.ioc = srv.Addr().String()
	p.background(func(ctx context.Context) error { return srv.Run(ctx) })
	for i := range 50 {
		p.pvs = append(p.pvs, fmt.Sprintf("SIM:RAMP:%04d", i))
	}
	p.port, err = freeport.Find("0.0.0.0") // a port that no client takes, before the pods listen on it
	p.Expect(err).NotTo(HaveOccurred())
	return p
}

// background runs f until stop is called or the test ends. stop returns the error of f. An f that
// ends by itself fails the test.
func (p *site) background(f func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := f(ctx)
		if ctx.Err() == nil {
			p.t.Errorf("a part of the site ended by itself: %v", err)
		}
		ended <- err
	}()
	stopped, result := false, error(nil)
	stop = func() error {
		cancel()
		if !stopped {
			result, stopped = <-ended, true
		}
		return result
	}
	p.t.Cleanup(func() { _ = stop() })
	return stop
}

func (p *site) cluster() clusterOptions {
	return clusterOptions{kubeconfig: p.kubeconfig, namespace: podNamespace, archiver: "main", shards: 1}
}

// engine creates the pod of an engine, if it does not exist, and starts the engine.
func (p *site) engine(name, ip, state string) (url string, sigterm func() error) {
	p.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: podNamespace, Labels: map[string]string{
			v1alpha1.LabelArchiver: "main", v1alpha1.LabelComponent: v1alpha1.ComponentEngine,
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "engine", Image: "varve"}}},
	}
	if kube.IgnoreAlreadyExists(p.api.Create(p.t.Context(), pod)) == nil {
		pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
		_ = p.api.Status().Update(p.t.Context(), pod) // if the API server is down, the pod exists from an earlier start
	}
	addr := fmt.Sprintf("%s:%d", ip, p.port)
	return "http://" + addr, p.background(func(ctx context.Context) error {
		e, err := openEngine(&engineOptions{
			clusterOptions: p.cluster(),
			pipelineOptions: pipelineOptions{
				memory: 64 << 20, spoolSize: spool.MinSize, flush: 100 * time.Millisecond, checkpoint: 2 * time.Second,
				storage: p.storage, ca: ca.Config{Config: clienttest.ByUDP(p.ioc)},
			},
			name: name, listen: addr, state: state, retrieval: p.storage.locked(), drainTimeout: p.drain,
			log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return err
		}
		return e.run(ctx)
	})
}

// order sets the engines and orders of the only shard. It creates the shard if there is none.
func (p *site) order(engines ...v1alpha1.ShardEngine) {
	p.t.Helper()
	p.Eventually(func() error {
		obj := &v1alpha1.ArchiveShard{}
		if err := p.api.Get(p.t.Context(), kube.ObjectKey{Namespace: podNamespace, Name: podShard}, obj); err != nil {
			obj = p.newShard()
		}
		obj.Spec.Engines = engines
		for _, e := range engines {
			obj.Labels[v1alpha1.EngineLabel(e.Name)] = ""
		}
		if obj.UID == "" {
			return p.api.Create(p.t.Context(), obj)
		}
		return p.api.Update(p.t.Context(), obj)
	}).Should(Succeed())
}

// newShard returns the shard, and creates its channel list.
func (p *site) newShard() *v1alpha1.ArchiveShard {
	var channels []capture.Channel
	for _, pv := range p.pvs {
		channels = append(channels, capture.Channel{PV: pv, Group: podNamespace + "/ramps", Settings: &capture.Settings{}})
	}
	list := channellist.Encode(channels)[0]
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "main-" + list.Name, Namespace: podNamespace},
		BinaryData: map[string][]byte{v1alpha1.ChannelListKey: list.Data},
	}
	p.Expect(kube.IgnoreAlreadyExists(p.api.Create(p.t.Context(), cm))).To(Succeed())
	index := int32(0)
	return &v1alpha1.ArchiveShard{
		ObjectMeta: metav1.ObjectMeta{Name: podShard, Namespace: podNamespace, Labels: map[string]string{v1alpha1.LabelArchiver: "main"}},
		Spec: v1alpha1.ArchiveShardSpec{
			ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Index: &index, Channels: int32(len(p.pvs)),
			Lists: []v1alpha1.ChannelListReference{{Name: cm.Name}},
		},
	}
}

// phase waits until an engine reports a phase.
func (p *site) phase(engine string, want v1alpha1.ShardPhase) {
	p.t.Helper()
	p.Eventually(func() v1alpha1.ShardPhase {
		var obj v1alpha1.ArchiveShard
		p.Expect(p.api.Get(p.t.Context(), kube.ObjectKey{Namespace: podNamespace, Name: podShard}, &obj)).To(Succeed())
		if obj.Status == nil {
			return ""
		}
		for _, e := range obj.Status.Engines {
			if e.Name == engine {
				return e.Phase
			}
		}
		return ""
	}).Should(Equal(want), "engine "+engine)
}

// unbroken checks that an archive has every step of the ramps since a time. It returns the
// number of samples of one ramp.
func (p *site) unbroken(url string, since time.Time) (samples int) {
	p.t.Helper()
	all, err := archive.NewClient(url, time.Minute).AllEvents(p.pvs, since)
	p.Expect(err).NotTo(HaveOccurred())
	for pv, events := range all {
		samples = len(events)
		for i := 1; i < len(events); i++ {
			if events[i].Value != events[i-1].Value+1 {
				p.t.Errorf("%s: %v is followed by %v", pv, events[i-1], events[i])
			}
		}
	}
	return samples
}

// fresh waits until an archive has more than ten samples that are newer than the call.
func (p *site) fresh(url string) {
	p.t.Helper()
	begin := time.Now()
	p.Eventually(func() (n int) {
		events, err := archive.NewClient(url, time.Minute).Events(p.pvs[0], begin)
		if err != nil {
			return 0
		}
		return len(events)
	}).Should(BeNumerically(">", 10))
}

func get(url string) int {
	res, err := http.Get(url)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	return res.StatusCode
}

func TestAShardMovesBetweenPodsWithoutAHole(t *testing.T) {
	ks := cassandra.Shared(t)
	p := newSite(t, storageOptions{hosts: []string{ks.Addr}, keyspace: ks.Name})
	gets, drains := v1alpha1.OrderCapture, v1alpha1.OrderDrain

	// The schema is created after the engine has started, as may happen if both start at once.
	_, endA := p.engine("a", "127.0.0.2", t.TempDir())
	p.order(v1alpha1.ShardEngine{Name: "a", Order: gets})
	cfg, err := p.storage.cassandra(nil, slog.New(slog.DiscardHandler))
	p.Expect(err).NotTo(HaveOccurred())
	options := schemaOptions{timeout: time.Minute}
	p.Expect(options.createSchema(t.Context(), cfg, schema.Role{}, slog.New(slog.DiscardHandler))).To(Succeed())
	p.phase("a", v1alpha1.Capturing)
	since := time.Now()

	addr := fmt.Sprintf("127.0.0.1:%d", p.port)
	p.background(func(ctx context.Context) error {
		r, err := openRetrieval(&retrievalOptions{
			clusterOptions: p.cluster(), listen: addr, enginePort: p.port, storage: p.storage, log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return err
		}
		return r.run(ctx)
	})
	url := "http://" + addr
	p.Eventually(func() int { return get(url + "/readyz") }).Should(Equal(http.StatusOK))
	p.fresh(url)

	var shown bytes.Buffer
	unwatch := p.background(func(ctx context.Context) error {
		root := newRoot()
		root.SetArgs([]string{"status", "--url", url, "--watch", "--interval", "100ms"})
		root.SetOut(&shown)
		return root.ExecuteContext(ctx)
	})
	p.drain = 0 // there is no engine to take over
	b, _ := p.engine("b", "127.0.0.3", t.TempDir())
	p.order(v1alpha1.ShardEngine{Name: "a", Order: gets}, v1alpha1.ShardEngine{Name: "b", Order: gets})
	p.phase("b", v1alpha1.Capturing)
	p.order(v1alpha1.ShardEngine{Name: "b", Order: gets}, v1alpha1.ShardEngine{Name: "a", Order: drains})
	p.phase("a", v1alpha1.Drained)
	p.Expect(endA()).To(Succeed(), "an engine that holds nothing ends at once, and has stored everything")
	p.fresh(url)
	p.Expect(unwatch()).To(Succeed(), "Ctrl-C ends the watch without an error")
	p.Expect(shown.String()).To(MatchRegexp(`(?s)1 shards, 1 engines, 0 moves.*\n0 +a +b +Joining +20.*1 shards, 2 engines`))
	if n := p.unbroken(url, since); n < 20 {
		t.Errorf("there are only %d samples", n)
	}
	p.Expect(get(b+"/api/v1/status")).To(Equal(http.StatusNotFound), "an engine reads nothing")
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/internal/report"} {
		p.Expect(get(b+path)).To(Equal(http.StatusOK), path)
	}
	p.Expect(run(t, "status", "--url", url)).To(And(ContainSubstring("default/ramps"), ContainSubstring("50")))
	p.Expect(run(t, "status", "--url", url, "SIM:RAMP:000*")).To(ContainSubstring("SIM:RAMP:0009"))
}

func TestAnEmbeddedArchiveStartsAgainWithoutAPIServer(t *testing.T) {
	p := newSite(t, storageOptions{dir: t.TempDir()})
	state := t.TempDir()
	url, sigterm := p.engine("a", "127.0.0.2", state)
	p.order(v1alpha1.ShardEngine{Name: "a", Order: v1alpha1.OrderCapture})
	p.phase("a", v1alpha1.Capturing)
	p.fresh(url)
	p.Expect(run(t, "status", "--url", url)).To(ContainSubstring("default/ramps"))

	begin := time.Now()
	p.Expect(sigterm()).To(Succeed())
	p.Expect(time.Since(begin)).To(BeNumerically("<", 10*time.Second), "no other engine could take over the shards")
	p.Expect(p.env.ControlPlane.APIServer.Stop()).To(Succeed())
	url, _ = p.engine("a", "127.0.0.2", state)
	p.fresh(url)
	p.Expect(get(url + "/readyz")).To(Equal(http.StatusOK))
}

// run runs a varve command and returns its output.
func run(t *testing.T, args ...string) string {
	var out bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(&out)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Errorf("varve %s: %v", strings.Join(args, " "), err)
	}
	return out.String()
}
