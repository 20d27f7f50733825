package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"varve.dev/varve/agent/handover"
	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/mirror"
	"varve.dev/varve/engine"
)

// All tests share this API server. It is nil if KUBEBUILDER_ASSETS is not set.
var (
	apiServer *rest.Config
	crdPaths  = []string{filepath.Join("..", "charts", "varve-operator", "files", "crds")}
)

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	ctrllog.SetLogger(klog.Background())
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return m.Run()
	}
	env := &envtest.Environment{
		CRDDirectoryPaths: crdPaths, ErrorIfCRDPathMissing: true,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 2 * time.Minute},
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute,
	}
	var err error
	if apiServer, err = env.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "starting the API server:", err)
		return 1
	}
	apiServer.QPS = -1
	code := m.Run()
	if err := env.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		return 1
	}
	return code
}

// cable is the connection from an agent to the API server. Tests can cut it.
type cable struct {
	listener net.Listener
	to       string
	done     sync.WaitGroup

	mu    sync.Mutex
	isCut bool
	conns map[net.Conn]bool
}

func newCable(t *testing.T) *cable {
	at, err := url.Parse(apiServer.Host)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: l, to: at.Host, conns: map[net.Conn]bool{}}
	c.done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.done.Go(func() { c.carry(conn) })
		}
	})
	t.Cleanup(func() { c.cut(); l.Close(); c.done.Wait() })
	return c
}

func (c *cable) carry(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer to.Close()
	if !c.admit(from, to) {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { io.Copy(to, from); to.Close() })
	wg.Go(func() { io.Copy(from, to); from.Close() })
	wg.Wait()
}

func (c *cable) admit(conns ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range conns {
		c.conns[conn] = true
	}
	return !c.isCut
}

// cut closes all connections and prevents new ones.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = true
	for conn := range c.conns {
		conn.Close()
	}
	clear(c.conns)
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = false
}

// world is a namespace with shards, lists and the engine "a".
type world struct {
	*WithT
	t      *testing.T
	client client.Client // does not use the cable
	ns     string
	cable  *cable
	state  string
	engine *fakeEngine
	erase  func(engine.Deletion) (engine.Erased, error) // of the engine
	agent  *Agent
	stop   func()
}

func newWorld(t *testing.T) *world {
	if apiServer == nil {
		t.Skip("KUBEBUILDER_ASSETS is not set: it names the folder with kube-apiserver and etcd")
	}
	w := &world{WithT: NewWithT(t), t: t, cable: newCable(t), state: t.TempDir()}
	w.SetDefaultEventuallyTimeout(2 * time.Minute)
	w.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	scheme := runtime.NewScheme()
	w.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	w.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	var err error
	w.client, err = client.New(apiServer, client.Options{Scheme: scheme})
	w.Expect(err).NotTo(HaveOccurred())
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "agent-"}}
	w.Expect(w.client.Create(t.Context(), ns)).To(Succeed())
	w.ns = ns.Name
	t.Cleanup(func() { w.kill() })
	return w
}

// start starts an engine process: a new engine, and an agent that finds the state of the
// previous agent on disk.
func (w *world) start() {
	w.t.Helper()
	w.kill()
	cfg := rest.CopyConfig(apiServer)
	cfg.Host = "https://" + w.cable.listener.Addr().String()
	c, err := mirror.NewClient(cfg)
	w.Expect(err).NotTo(HaveOccurred())
	w.engine = &fakeEngine{erase: w.erase}
	w.agent = New(Config{
		Name: "a", Namespace: w.ns, Archiver: "main", PodUID: "0815", Shards: 64, State: w.state,
		Client: c, Engine: w.engine, Channels: w.engine, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { w.agent.Run(ctx) })
	w.stop = func() { cancel(); wg.Wait() }
}

// kill stops the agent.
func (w *world) kill() {
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// list creates a channel list and returns its name.
func (w *world) list(pvs ...string) string {
	w.t.Helper()
	name, data := newList("main", pvs...)
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns},
		BinaryData: map[string][]byte{v1alpha1.ChannelListKey: data},
	}
	if err := w.client.Create(w.t.Context(), cm); !apierrors.IsAlreadyExists(err) {
		w.Expect(err).NotTo(HaveOccurred())
	}
	return name
}

// deleteList deletes a channel list.
func (w *world) deleteList(name string) {
	w.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}}
	w.Expect(w.client.Delete(w.t.Context(), cm)).To(Succeed())
}

const shardName = "main-0007"

// newShard creates shard 7, captured by engine a.
func (w *world) newShard(lists ...string) {
	w.t.Helper()
	index := int32(7)
	obj := &v1alpha1.ArchiveShard{
		ObjectMeta: metav1.ObjectMeta{Name: shardName, Namespace: w.ns, Labels: map[string]string{v1alpha1.EngineLabel("a"): ""}},
		Spec:       *orders("a", captures),
	}
	obj.Spec.ArchiverRef.Name, obj.Spec.Index, obj.Spec.Lists = "main", &index, refs(lists)
	w.Expect(w.client.Create(w.t.Context(), obj)).To(Succeed())
}

func refs(names []string) (out []v1alpha1.ChannelListReference) {
	for _, name := range names {
		out = append(out, v1alpha1.ChannelListReference{Name: name})
	}
	return out
}

// get returns the shard.
func (w *world) get() *v1alpha1.ArchiveShard {
	var obj v1alpha1.ArchiveShard
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.ns, Name: shardName}, &obj)).To(Succeed())
	return &obj
}

// edit changes the shard as the operator would.
func (w *world) edit(change func(*v1alpha1.ArchiveShard)) {
	w.t.Helper()
	w.Eventually(func() error {
		obj := w.get()
		change(obj)
		return w.client.Update(w.t.Context(), obj)
	}).Should(Succeed())
}

// setPhase writes the phase of another engine into the status.
func (w *world) setPhase(engine string, p v1alpha1.ShardPhase) {
	w.t.Helper()
	w.updateStatus(statusUpdate{entry: v1alpha1.ShardEngineStatus{Name: engine, Phase: p}})
}

func (w *world) updateStatus(u statusUpdate) {
	w.t.Helper()
	w.Eventually(func() error {
		obj := w.get()
		u.since = metav1.Now()
		u.applyTo(obj)
		return w.client.Status().Update(w.t.Context(), obj)
	}).Should(Succeed())
}

// entry returns the status entry of engine a, or an empty entry.
func (w *world) entry() v1alpha1.ShardEngineStatus {
	if e := handover.Entry(w.get().Status, "a"); e != nil {
		return *e
	}
	return v1alpha1.ShardEngineStatus{}
}

func (w *world) phase() v1alpha1.ShardPhase { return w.entry().Phase }

// expectCapturing waits until the engine captures the PVs and reports the phase Capturing.
func (w *world) expectCapturing(pvs string) {
	w.t.Helper()
	w.Eventually(w.engine.captured).Should(Equal(pvs))
	w.Eventually(w.phase).Should(Equal(v1alpha1.Capturing))
}

// orphans returns the number of orphaned shards.
func (w *world) orphans() (n int) {
	w.agent.mu.Lock()
	defer w.agent.mu.Unlock()
	for _, s := range w.agent.shards {
		if s.decision.Orphaned {
			n++
		}
	}
	return n
}
