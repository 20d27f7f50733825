package routing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/mirror"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/engine/capture"
	"varve.dev/varve/engine/peer"
	"varve.dev/varve/engine/query"
	"varve.dev/varve/engine/sample"
	"varve.dev/varve/engine/serve/overview"
	"varve.dev/varve/engine/store"
	"varve.dev/varve/groups/channellist"
	"varve.dev/varve/test/freeport"
)

// fakeShards are the shards in which fake engines capture PVs.
var fakeShards = map[string]int{"A": 1, "B": 1, "C": 2, "D": 2, "E": 3, "F": 3, "MOVED": 2}

// fakeEngine holds one sample of each of its PVs, under its own writer ID.
type fakeEngine struct {
	writer  store.WriterID
	state   capture.State
	pvs     []string
	stuck   chan struct{}         // if set, the engine answers only after it is closed
	shards  atomic.Pointer[[]int] // the shards that the last request named
	report  *report.Report        // what the engine reports; nil: it answers 404
	missing error                 // why the busy engine cannot say how far it is flushed
	asked   func()                // called at each request, if it is set
}

func (f *fakeEngine) Recent(_ context.Context, q query.RecentRequest) query.Held {
	f.shards.Store(&q.Shards)
	if f.asked != nil {
		f.asked()
	}
	if f.stuck != nil {
		<-f.stuck
	}
	held := query.Held{Covers: []store.WriterID{f.writer}}
	if slices.Contains(f.pvs, q.PV) {
		held.Shards = []int{fakeShards[q.PV]}
		run := &sample.Run{Type: sample.Float64}
		run.Append(&sample.Sample{Time: int64(f.writer[0])})
		held.Known, held.Runs = true, []*sample.Run{run}
	}
	return held
}

func (f *fakeEngine) Flushed(q query.RecentRequest) query.Held {
	return query.Held{Known: slices.Contains(f.pvs, q.PV), Unanswered: true, Flushed: []query.Flushed{{Writer: f.writer, Until: int64(f.writer[0])}}, Missing: f.missing}
}

func (f *fakeEngine) Statuses(context.Context) iter.Seq2[capture.Status, error] {
	return func(yield func(capture.Status, error) bool) {
		for _, pv := range f.pvs {
			if !yield(capture.Status{PV: pv, Group: string('a' + rune(f.writer[0])), State: f.state}, nil) {
				return
			}
		}
	}
}

func (f *fakeEngine) Status(ctx context.Context, pv string) (capture.Status, bool, error) {
	for s := range f.Statuses(ctx) {
		if s.PV == pv {
			return s, true, nil
		}
	}
	return capture.Status{}, false, nil
}

// site is a namespace with engines, and the Router under test.
type site struct {
	*WithT
	t      *testing.T
	client client.Client
	ns     string
	port   int
	router *Router
}

func newSite(t *testing.T) *site {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: it names the folder with kube-apiserver and etcd")
	}
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	ctrllog.SetLogger(klog.Background())
	s := &site{WithT: NewWithT(t), t: t, port: freePort(t)}
	s.SetDefaultEventuallyTimeout(2 * time.Minute)
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{filepath.Join("..", "..", "charts", "varve-operator", "files", "crds")}, ErrorIfCRDPathMissing: true,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 2 * time.Minute},
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute,
	}
	cfg, err := env.Start()
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { s.Expect(env.Stop()).To(Succeed()) })
	c, err := mirror.NewClient(cfg)
	s.Expect(err).NotTo(HaveOccurred())
	s.client, s.ns = c, "default"
	s.router = New(Config{Namespace: s.ns, Archiver: "main", Port: s.port, Client: c, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.router.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return s
}

// freePort returns a port that is free at all loopback addresses.
func freePort(t *testing.T) int {
	port, err := freeport.Find("0.0.0.0")
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// engine starts an engine with a pod that has a separate address.
func (s *site) engine(n int, f *fakeEngine) {
	s.t.Helper()
	f.writer = store.WriterID{byte(n)}
	ip := fmt.Sprintf("127.0.0.%d", n)
	l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", ip, s.port))
	s.Expect(err).NotTo(HaveOccurred())
	mux := http.NewServeMux()
	peer.NewHandler(f, func() bool { return false }, prometheus.NewRegistry()).Register(mux)
	if f.report != nil {
		mux.HandleFunc("GET "+report.Path, func(w http.ResponseWriter, _ *http.Request) {
			s.Expect(json.NewEncoder(w).Encode(f.report)).To(Succeed())
		})
	}
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: mux}}
	srv.Start()
	s.t.Cleanup(srv.Close)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("e%d", n), Namespace: s.ns, Labels: map[string]string{
			v1alpha1.LabelArchiver: "main", v1alpha1.LabelComponent: v1alpha1.ComponentEngine,
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "engine", Image: "varve"}}},
	}
	s.Expect(s.client.Create(s.t.Context(), pod)).To(Succeed())
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
	s.Expect(s.client.Status().Update(s.t.Context(), pod)).To(Succeed())
}

// shard creates a shard of PVs.
func (s *site) shard(index int, pvs string, engines ...string) {
	s.t.Helper()
	var channels []capture.Channel
	for _, pv := range strings.Fields(pvs) {
		channels = append(channels, capture.Channel{PV: pv, Group: "ns/g", Settings: &capture.Settings{}})
	}
	list := channellist.Encode(channels)[0]
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "main-" + list.Name, Namespace: s.ns},
		BinaryData: map[string][]byte{v1alpha1.ChannelListKey: list.Data},
	}
	s.Expect(s.client.Create(s.t.Context(), cm)).To(Succeed())
	obj := shardOf(index, cm.Name, engines...)
	obj.Name, obj.Namespace, obj.Labels = fmt.Sprintf("main-%04d", index), s.ns, map[string]string{v1alpha1.LabelArchiver: "main"}
	status := obj.Status
	s.Expect(s.client.Create(s.t.Context(), obj)).To(Succeed())
	obj.Status = status
	s.Expect(s.client.Status().Update(s.t.Context(), obj)).To(Succeed())
}

// covers returns which engines answered for a PV.
func (s *site) covers(pv string) (ids []int) {
	for _, w := range s.router.Recent(s.t.Context(), query.RecentRequest{PV: pv}).Covers {
		ids = append(ids, int(w[0]))
	}
	slices.SortFunc(ids, cmp.Compare[int])
	return ids
}

func TestRouterFindsAndQueriesTheEnginesOfAPV(t *testing.T) {
	s := newSite(t)
	s.Expect(s.router.Ready()).NotTo(Succeed())
	_, known := s.router.Moves()
	s.Expect(known).To(BeFalse(), "the moves are unknown before the first shard is known")
	s.engine(1, &fakeEngine{pvs: []string{"A", "B", "C"}, state: capture.Searching, report: &report.Report{
		Engine: "e1", Version: "1.2", Shards: []report.Shard{{Index: 1, Channels: 2, Connected: 1, SamplesPerSecond: 3, Sealing: true}},
	}})
	s.engine(2, &fakeEngine{pvs: []string{"B", "C", "D"}, state: capture.Connected})
	stuck := &fakeEngine{pvs: []string{"E"}, stuck: make(chan struct{})}
	defer close(stuck.stuck)
	s.engine(3, stuck)
	s.shard(1, "A B", "e1 Capturing")
	s.shard(2, "C D", "e2 Capturing", "e1 Draining")
	s.shard(3, "E F", "e3 Capturing", "e1 Capturing")
	s.Eventually(s.router.Ready).Should(Succeed())
	s.Eventually(func() []int { return s.covers("D") }).Should(Equal([]int{1, 2}))
	s.Eventually(func() []int { return s.covers("A") }).Should(Equal([]int{1}))

	s.Eventually(func() []int { return s.router.Recent(t.Context(), query.RecentRequest{PV: "C"}).Shards }).Should(HaveEach(2), "the lists of all shards have arrived")
	held := s.router.Recent(t.Context(), query.RecentRequest{PV: "C"})
	s.Expect(held.Known).To(BeTrue())
	s.Expect(held.Shards).To(HaveEach(2))
	s.Expect(held.Runs).To(HaveLen(2))
	s.Expect(s.covers("X")).To(Equal([]int{1, 2}), "for a PV in no list, all engines are queried, because one of them may hold its last samples")
	s.Expect(s.router.Recent(t.Context(), query.RecentRequest{PV: "X"}).Known).To(BeFalse())

	// The result covers only the samples of engines that answer in time.
	s.Eventually(func() []int { return s.covers("E") }).Should(Equal([]int{1}))
	s.Expect(s.router.Recent(t.Context(), query.RecentRequest{PV: "E"})).To(And(HaveField("Known", true), HaveField("Shards", []int{3})))

	// Each PV appears once, with the state that its sealer reports.
	var statuses []string
	for st, err := range s.router.Statuses(t.Context()) {
		s.Expect(err).NotTo(HaveOccurred())
		statuses = append(statuses, st.PV+st.Group+" "+st.Engine)
	}
	s.Expect(statuses).To(Equal([]string{"Ab e1", "Bb e1", "Cc e2", "Dc e2", "Ed e3"}))
	for range s.router.Statuses(t.Context()) {
		break // must not leak a goroutine
	}
	mux := http.NewServeMux()
	s.router.Register(mux)
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/v1/shards", http.NoBody))
	s.Expect(answer.Body.String()).To(MatchJSON(`{"shards": 3, "moves": [], "engines": []}`), "no shard has orders")
	st, captured, err := s.router.Status(t.Context(), "C")
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(captured).To(BeTrue())
	s.Expect(st.Group + " " + st.Engine).To(Equal("c e2"))
	s.Expect(slices.Sorted(s.router.Names())).To(Equal([]string{"A", "B", "C", "D", "E", "F"}))
	s.checkFleet()
}

// checkFleet checks what the page Archive shows of the engines and shards of
// TestRouterFindsAndQueriesTheEnginesOfAPV, and of an engine without a pod.
func (s *site) checkFleet() {
	s.t.Helper()
	lost := shardOf(4, "none", "gone Joining")
	lost.Name, lost.Namespace, lost.Labels = "main-0004", s.ns, map[string]string{v1alpha1.LabelArchiver: "main"}
	lost.Spec.Engines = []v1alpha1.ShardEngine{{Name: "gone", Order: v1alpha1.OrderCapture}}
	lost.Spec.Channels, lost.Status.Sealer = 5, ""
	status := lost.Status
	s.Expect(s.client.Create(s.t.Context(), lost)).To(Succeed())
	lost.Status = status
	s.Expect(s.client.Status().Update(s.t.Context(), lost)).To(Succeed())
	var fleet overview.Fleet
	s.Eventually(func() int {
		fleet = s.router.Fleet(s.t.Context())
		assigned := 0
		for _, shard := range fleet.Assigned {
			assigned += len(shard.Engines)
		}
		return assigned
	}).Should(Equal(6), "the engines of all four shards have arrived")
	s.Expect(fleet.Missing).To(BeEmpty())
	s.Expect(fleet.Shards).To(Equal(4))
	s.Expect(fleet.Captured).To(Equal(3), "nobody captures the last shard")
	missing := map[string]string{}
	for _, e := range fleet.Engines {
		missing[e.Engine] = e.Missing
	}
	s.Expect(missing).To(Equal(map[string]string{"e1": "", "e2": "the engine answers 404 Not Found", "e3": "the engine answers 404 Not Found", "gone": "its pod does not exist"}))
	s.Expect(fleet.Engines[0].Version).To(Equal("1.2"))
	s.Expect(*fleet.Engines[0].Figures).To(And(HaveField("Channels", 2), HaveField("Connected", 1), HaveField("Sealing", 1)))
	s.Expect(fleet.Assigned[0]).To(Equal(overview.Shard{Shard: 1, Engines: []overview.ShardEngine{{Engine: "e1", Phase: "Capturing", Sealing: true, Connected: new(1)}}}))
	s.Expect(fleet.Assigned[3]).To(Equal(overview.Shard{Shard: 4, Channels: 5, Engines: []overview.ShardEngine{{Engine: "gone", Phase: "Joining"}}}))
}

// TestAReadNeedsTheEnginesThatHoldUnstoredSamples checks that a read fails without the engines
// that hold unstored samples. Unstored samples are not in the journal, so the read would have
// a gap that nobody notices.
func TestAReadNeedsTheEnginesThatHoldUnstoredSamples(t *testing.T) {
	shard := shardOf(1, "l", "e1 Capturing", "e2 Capturing", "gone Drained")
	since := metav1.NewTime(time.Unix(1000, 0))
	for i := range shard.Status.Engines {
		shard.Status.Engines[i].WaitingSince = &since
	}
	addresses, busy := map[string]string{}, map[string]bool{}
	engines := []*fakeEngine{{writer: store.WriterID{0}, pvs: []string{"A"}}, {writer: store.WriterID{1}, pvs: []string{"A"}}}
	for i, name := range []string{"e1", "e2"} {
		mux := http.NewServeMux()
		peer.NewHandler(engines[i], func() bool { return busy[name] }, prometheus.NewRegistry()).Register(mux)
		srv := httptest.NewServer(mux)
		defer srv.Close()
		addresses[name] = srv.URL
	}
	o := New(Config{Log: slog.New(slog.DiscardHandler)})
	o.synced.Store(true)
	defer o.peers.HTTP.CloseIdleConnections()
	lists := "A"
	read := func() query.Held {
		at := buildTable(map[string]*v1alpha1.ArchiveShard{"s": shard}, addresses, func(string) (*pvSet, bool) { return pvSetOf(t, lists), true })
		at.addFormer(&o.former, func(string) (*pvSet, bool) { return pvSetOf(t, "A"), true })
		o.table.Store(at)
		return o.Recent(t.Context(), query.RecentRequest{PV: "A"})
	}
	if held := read(); held.Missing != nil || len(held.Covers) != 2 || held.Unanswered {
		t.Errorf("both engines answer, but the result is %+v", held)
	}
	if got := engines[0].shards.Load(); !slices.Equal(*got, []int{1}) {
		t.Errorf("the request names shards %v, want 1", *got)
	}
	busy["e2"], engines[1].missing = true, errors.New("samples wait in the spool")
	if held := read(); !errors.Is(held.Missing, query.ErrNoAnswer) || held.MissingFrom != 1000e9 || len(held.Covers) != 1 {
		t.Errorf("an engine with unstored samples does not answer, but the result is %+v", held)
	}
	lists = "B" // A has moved to another shard
	o.former.add(1, "l", time.Now())
	if held := read(); !errors.Is(held.Missing, query.ErrNoAnswer) || held.MissingFrom != 1000e9 {
		t.Errorf("an engine of the former shard holds unstored samples and does not answer, but the result is %+v", held)
	}
	lists, o.former = "A", former{}
	shard.Status.Engines[1].WaitingSince = nil
	if held := read(); held.Missing != nil || len(held.Covers) != 1 || !held.Unanswered {
		t.Errorf("the engine that does not answer holds no unstored samples, but the result is %+v", held)
	}
	engines[1].missing = nil
	if held := read(); held.Missing != nil || !held.Unanswered || !slices.Equal(held.Flushed, []query.Flushed{{Writer: store.WriterID{1}, Until: 1}}) {
		t.Errorf("a busy engine answers how far it is flushed, but the result is %+v", held)
	}
	busy["e2"], lists = false, "B"
	o.former.add(1, "l", time.Now())
	if held := read(); len(held.Covers) != 2 || held.Unanswered {
		t.Errorf("the engines of the former shard answer, but the result is %+v", held)
	}
	o.synced.Store(false)
	if held := read(); !held.Unanswered {
		t.Errorf("the engines are not known yet, but the result is %+v", held)
	}
}

// fakeSite is a Router with engines, by name, that needs no API server.
func fakeSite(t *testing.T, engines map[string]*fakeEngine) (r *Router, addresses map[string]string) {
	addresses = map[string]string{}
	for name, e := range engines {
		mux := http.NewServeMux()
		peer.NewHandler(e, func() bool { return false }, prometheus.NewRegistry()).Register(mux)
		srv := httptest.NewServer(mux)
		t.Cleanup(srv.Close)
		addresses[name] = srv.URL
	}
	r = New(Config{Log: slog.New(slog.DiscardHandler)})
	r.recentTimeout = time.Minute // on a slow machine, too, each engine answers
	r.synced.Store(true)
	t.Cleanup(r.peers.HTTP.CloseIdleConnections)
	return r, addresses
}

// TestAPodThatHasJustStartedAsksTheEnginesOfAFormerShard checks a pod that has never seen the PV in its
// former shard. It must request the samples of the former shard's engines by the shard's number, and
// the reader must read the former shard's journal. In a soak test, such a pod answered without the
// samples that waited in the former shard's engines after an outage of the store.
func TestAPodThatHasJustStartedAsksTheEnginesOfAFormerShard(t *testing.T) {
	e1, e2, e3 := &fakeEngine{writer: store.WriterID{1}}, &fakeEngine{writer: store.WriterID{2}, pvs: []string{"MOVED"}}, &fakeEngine{writer: store.WriterID{3}}
	r, addresses := fakeSite(t, map[string]*fakeEngine{"e1": e1, "e2": e2, "e3": e3})
	lists := map[string]*pvSet{"old": pvSetOf(t, "MOVED", "STAYS"), "new": pvSetOf(t, "MOVED"), "other": pvSetOf(t, "X")}
	s1 := shardOf(1, "", "e1 Draining")
	s1.Spec.Former = []v1alpha1.FormerChannelList{{Name: "old"}}
	r.table.Store(buildTable(map[string]*v1alpha1.ArchiveShard{
		"s1": s1, "s2": shardOf(2, "new", "e2 Capturing"), "s3": shardOf(3, "other", "e3 Capturing"),
	}, addresses, func(name string) (*pvSet, bool) { n, ok := lists[name]; return n, ok }))
	held := r.Recent(t.Context(), query.RecentRequest{PV: "MOVED"})
	writers := slices.SortedFunc(slices.Values(held.Covers), func(a, b store.WriterID) int { return int(a[0]) - int(b[0]) })
	if !slices.Equal(writers, []store.WriterID{{1}, {2}}) || !slices.Contains(held.Shards, 1) || !slices.Contains(held.Shards, 2) {
		t.Errorf("the engines %v answer for the shards %v", writers, held.Shards)
	}
	for name, e := range map[string]*fakeEngine{"former": e1, "present": e2} {
		if got := e.shards.Load(); got == nil || !slices.Contains(*got, 1) || !slices.Contains(*got, 2) {
			t.Errorf("the request to the %s engine does not name both shards", name)
		}
	}

	delete(lists, "old") // it has not been read yet
	r.table.Store(buildTable(map[string]*v1alpha1.ArchiveShard{"s1": s1, "s3": shardOf(3, "other", "e3 Capturing")}, addresses,
		func(name string) (*pvSet, bool) { n, ok := lists[name]; return n, ok }))
	if held := r.Recent(t.Context(), query.RecentRequest{PV: "X"}); !slices.Contains(held.Shards, 1) {
		t.Errorf("any PV may be in a former list that has not been read, but the shards are %v", held.Shards)
	}
}

// TestAnOutdatedTableAsksAllEngines checks a pod that does not know that a PV has moved, because it does
// not reach the API server. The engine that captured the PV says that it no longer does.
func TestAnOutdatedTableAsksAllEngines(t *testing.T) {
	e1, e2 := &fakeEngine{writer: store.WriterID{1}, pvs: []string{"A"}}, &fakeEngine{writer: store.WriterID{2}, pvs: []string{"MOVED"}}
	r, addresses := fakeSite(t, map[string]*fakeEngine{"e1": e1, "e2": e2})
	r.table.Store(buildTable(map[string]*v1alpha1.ArchiveShard{"s1": shardOf(1, "l", "e1 Capturing")}, addresses,
		func(string) (*pvSet, bool) { return pvSetOf(t, "A", "MOVED"), true }))
	if held := r.Recent(t.Context(), query.RecentRequest{PV: "MOVED"}); len(held.Covers) != 2 || !slices.Contains(held.Shards, 2) {
		t.Errorf("%d engines are asked, and the shards are %v", len(held.Covers), held.Shards)
	}
	if held := r.Recent(t.Context(), query.RecentRequest{PV: "A"}); len(held.Covers) != 1 {
		t.Errorf("%d engines are asked for a PV that has not moved", len(held.Covers))
	}
}

// TestAReadSaysThatItsEngineIsUnknown checks what the reader learns if the engine that captures the PV is not
// known: it must not take the answers of the other engines for complete.
func TestAReadSaysThatItsEngineIsUnknown(t *testing.T) {
	other := &fakeEngine{writer: store.WriterID{1}, pvs: []string{"A"}}
	capturing := func(s *v1alpha1.ArchiveShard, engine string) *v1alpha1.ArchiveShard {
		s.Spec.Engines = []v1alpha1.ShardEngine{{Name: engine, Order: v1alpha1.OrderCapture}}
		return s
	}
	for name, c := range map[string]struct {
		shard                 *v1alpha1.ArchiveShard
		pv                    string
		down                  bool          // an engine does not answer
		silent                time.Duration // since the API server was heard
		unanswered, confirmed bool
	}{
		"its pod is not known":            {shard: shardOf(2, "l", "new Joining"), pv: "C", unanswered: true, confirmed: true},
		"it has not answered yet":         {shard: capturing(shardOf(2, "l"), "new"), pv: "C", unanswered: true, confirmed: true},
		"one of two is not known":         {shard: shardOf(1, "l", "e1 Capturing", "new Joining"), pv: "A", unanswered: true},
		"all are known":                   {shard: capturing(shardOf(1, "l", "e1 Capturing", "old Drained"), "e1"), pv: "A"},
		"the PV has moved to it":          {shard: shardOf(1, "l", "e1 Capturing"), pv: "C", confirmed: true},
		"it has moved, another is down":   {shard: shardOf(1, "l", "e1 Capturing"), pv: "C", down: true, unanswered: true, confirmed: true},
		"the shard has no engine":         {shard: shardOf(2, "l"), pv: "C"},
		"the PV has been removed":         {shard: shardOf(1, "other", "e1 Capturing"), pv: "C"},
		"it does not answer":              {shard: shardOf(1, "l", "down Capturing"), pv: "A", down: true, unanswered: true},
		"neither does the API server":     {shard: shardOf(1, "l", "down Capturing"), pv: "A", down: true, silent: 10 * time.Minute, unanswered: true, confirmed: true},
		"the API server is not reachable": {shard: shardOf(1, "other", "e1 Capturing"), pv: "C", silent: 10 * time.Minute, confirmed: true},
	} {
		t.Run(name, func(t *testing.T) {
			r, addresses := fakeSite(t, map[string]*fakeEngine{"e1": other})
			if c.down {
				down := httptest.NewServer(http.NotFoundHandler())
				down.Close()
				addresses["down"] = down.URL
			}
			heard := time.Now().Add(-c.silent)
			r.seen = func() time.Time { return heard }
			lists := map[string]*pvSet{"l": pvSetOf(t, "A", "C"), "other": pvSetOf(t, "B")}
			r.table.Store(buildTable(map[string]*v1alpha1.ArchiveShard{"s": c.shard}, addresses,
				func(name string) (*pvSet, bool) { n, ok := lists[name]; return n, ok }))
			held := r.Recent(t.Context(), query.RecentRequest{PV: c.pv})
			if held.Unanswered != c.unanswered {
				t.Errorf("an engine may not have answered: %v", held.Unanswered)
			}
			if (held.Confirmed != 0) != c.confirmed {
				t.Fatalf("the shards are known until %d", held.Confirmed)
			}
			if late := heard.UnixNano() - held.Confirmed; c.confirmed && (late < int64(underWay) || late > int64(time.Hour)) {
				t.Errorf("the shards are known until %v before the API server was heard", time.Duration(late))
			}
		})
	}
}

// TestATableIsNotConfirmedByLaterNews checks that an answer is not complete up to a message of the API server that came
// after the table was loaded. The engine that captures the PV since then is not in that table.
func TestATableIsNotConfirmedByLaterNews(t *testing.T) {
	heard := atomic.Int64{} // ns since 1970
	before := time.Now()
	heard.Store(before.UnixNano())
	e := &fakeEngine{writer: store.WriterID{1}, pvs: []string{"A"}, asked: func() { heard.Store(before.Add(time.Hour).UnixNano()) }}
	r, addresses := fakeSite(t, map[string]*fakeEngine{"e1": e})
	r.seen = func() time.Time { return time.Unix(0, heard.Load()) }
	list := pvSetOf(t, "A", "C")
	r.table.Store(buildTable(map[string]*v1alpha1.ArchiveShard{"s": shardOf(1, "l", "e1 Capturing")}, addresses,
		func(string) (*pvSet, bool) { return list, true }))
	held := r.Recent(t.Context(), query.RecentRequest{PV: "C"})
	if held.Confirmed == 0 || held.Confirmed > before.UnixNano() {
		t.Errorf("the shards are known until %v, want a time before %v", time.Unix(0, held.Confirmed), before)
	}
}

func TestAnUnreachableEngineIsReportedOnce(t *testing.T) {
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	mux := http.NewServeMux()
	peer.NewHandler(&fakeEngine{pvs: []string{"A", "B"}}, func() bool { return false }, prometheus.NewRegistry()).Register(mux)
	up := httptest.NewServer(mux)
	defer up.Close()
	o := New(Config{Log: slog.New(slog.DiscardHandler)})
	defer o.peers.HTTP.CloseIdleConnections()
	o.table.Store(&table{
		routes:  []route{{shard: 1, complete: true, lists: []*pvSet{pvSetOf(t, "A", "C")}, engines: []string{down.URL, up.URL}}},
		engines: []string{down.URL, up.URL},
	})
	var pvs []string
	failures := 0
	for st, err := range o.Statuses(t.Context()) {
		if err != nil {
			failures++
			continue
		}
		pvs = append(pvs, st.PV)
	}
	if failures != 1 || !slices.Equal(pvs, []string{"A", "B"}) {
		t.Errorf("%d errors, channels %v", failures, pvs)
	}
	if st, captured, err := o.Status(t.Context(), "A"); err != nil || !captured || st.PV != "A" {
		t.Errorf("another engine has the PV, but the status is %v %v", captured, err)
	}
	if _, captured, err := o.Status(t.Context(), "C"); captured || !errors.Is(err, query.ErrNoAnswer) {
		t.Errorf("the only engine that may have the PV is unreachable, but the status is %v %v", captured, err)
	}
	if _, captured, err := o.Status(t.Context(), "X"); captured || err != nil {
		t.Errorf("a PV in no list has the status %v %v", captured, err)
	}
}
