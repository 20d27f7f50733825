package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/test/testclock"
)

var mainArchiver = types.NamespacedName{Namespace: "ns", Name: "main"}

// fixture is an API server that can become unreachable, with engines that renew their
// Leases and report. It lives in a synctest bubble.
type fixture struct {
	t      *testing.T
	client client.WithWatch
	fleet  *Fleet
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]

	unreachable atomic.Bool  // lists of Leases fail
	delay       atomic.Int64 // how long lists of Leases take

	mu          sync.Mutex
	renew       map[string]bool
	reports     map[string]*report.Report // by pod IP
	fetching    int                       // reports that are being fetched
	maxFetching int                       // the highest value of fetching
}

// newFixture starts a Fleet.
func newFixture(t *testing.T) *fixture {
	p := &fixture{t: t, renew: map[string]bool{}, reports: map[string]*report.Report{}}
	p.client = interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, leases := list.(*coordinationv1.LeaseList); leases {
				if p.unreachable.Load() {
					return errors.New("the API server is unreachable")
				}
				if wait(ctx, time.Duration(p.delay.Load())); ctx.Err() != nil {
					return ctx.Err()
				}
			}
			return c.List(ctx, list, opts...)
		},
	})
	p.fleet = New(Config{
		Pods: p.client, API: p.client, Fetch: p.fetch,
		Log: logr.Discard(), Registerer: prometheus.NewRegistry(),
	})
	p.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(p.queue.ShutDown)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	requests := func(_ context.Context, archiver types.NamespacedName) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: archiver}}
	}
	if err := p.fleet.Changes(requests).Start(ctx, p.queue); err != nil {
		t.Fatal(err)
	}
	running.Go(func() { p.renewLeases(ctx) })
	running.Go(func() {
		if err := p.fleet.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	return p
}

// wait sleeps, but not longer than ctx.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (p *fixture) renewLeases(ctx context.Context) {
	for n := 1; ctx.Err() == nil; n++ {
		p.mu.Lock()
		for name, yes := range p.renew {
			if yes {
				p.write(name, n)
			}
		}
		p.mu.Unlock()
		wait(ctx, 2*time.Second)
	}
}

// write renews a Lease. The time in the Lease is wrong by years, which must not matter.
func (p *fixture) write(name string, n int) {
	at := metav1.NewMicroTime(time.Date(1990, 1, 1, 0, 0, n, 0, time.UTC))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, Labels: map[string]string{v1alpha1.LabelArchiver: "main"},
	}}
	err := p.client.Get(context.Background(), client.ObjectKeyFromObject(lease), lease)
	lease.Spec.RenewTime = &at
	if apierrors.IsNotFound(err) {
		err = p.client.Create(context.Background(), lease)
	} else if err == nil {
		err = p.client.Update(context.Background(), lease)
	}
	if err != nil {
		p.t.Error(err)
	}
}

func (p *fixture) fetch(ctx context.Context, pod *corev1.Pod) (*report.Report, error) {
	ip := pod.Status.PodIP
	p.mu.Lock()
	r := p.reports[ip]
	p.fetching++
	p.maxFetching = max(p.maxFetching, p.fetching)
	p.mu.Unlock()
	wait(ctx, time.Second)
	p.mu.Lock()
	p.fetching--
	p.mu.Unlock()
	if r == nil {
		return nil, errors.New("no answer")
	}
	return r, nil
}

// start adds an engine whose pod is ready.
func (p *fixture) start(name string) *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	ip := fmt.Sprint("10.0.0.", len(p.reports)+1)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, Finalizers: []string{"test/kubelet"},
			Labels: map[string]string{v1alpha1.LabelArchiver: "main", v1alpha1.LabelComponent: v1alpha1.ComponentEngine},
		},
		Spec: corev1.PodSpec{NodeName: "node-1"},
		Status: corev1.PodStatus{
			PodIP:      ip,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	if err := p.client.Create(p.t.Context(), pod); err != nil {
		p.t.Fatal(err)
	}
	p.renew[name] = true
	p.reports[ip] = &report.Report{Engine: name}
	return pod
}

func (p *fixture) stopRenewing(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.renew[name] = false
}

// only returns the only engine.
func (p *fixture) only() Engine {
	p.t.Helper()
	engines, err := p.fleet.Engines(p.t.Context(), mainArchiver)
	if err != nil || len(engines) != 1 {
		p.t.Fatalf("%d engines, %v", len(engines), err)
	}
	return engines[0]
}

// woken reports whether the Archiver was woken since the last call.
func (p *fixture) woken() bool {
	synctest.Wait()
	woken := p.queue.Len() > 0
	for p.queue.Len() > 0 {
		r, _ := p.queue.Get()
		p.queue.Done(r)
		if r.NamespacedName != mainArchiver {
			p.t.Errorf("%s was woken", r)
		}
	}
	return woken
}

func TestEngineDiesWithoutItsLeaseAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFixture(t)
		testclock.Advance(3 * time.Second)
		if !p.fleet.Synced() {
			t.Error("the fleet is not synced although there are no engines")
		}
		pod := p.start("e1")
		if e := p.only(); e.Usable() || e.Dead {
			t.Error("an engine without a Lease is usable or dead")
		}
		testclock.Advance(5 * time.Second)
		if !p.only().Usable() || !p.woken() {
			t.Error("an engine with a Lease is not usable, or no Archiver was woken")
		}
		testclock.Advance(time.Minute)
		if !p.only().Usable() || p.woken() {
			t.Error("an Archiver was woken in a minute without changes")
		}
		p.stopRenewing("e1")
		testclock.Advance(8 * time.Second)
		if p.only().Dead {
			t.Error("the engine is dead after 8 s without renewal")
		}
		testclock.Advance(6 * time.Second)
		if e := p.only(); !e.Dead || e.Usable() || !p.woken() {
			t.Error("the engine is not dead after 14 s without renewal, or no Archiver was woken")
		}
		p.write("e1", 1000)
		testclock.Advance(3 * time.Second)
		if e := p.only(); e.Dead || !e.Usable() || !p.woken() {
			t.Error("the engine is dead although it renews its Lease again, or no Archiver was woken")
		}
		if err := p.client.Delete(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		if e := p.only(); !e.Leaving() || e.Usable() {
			t.Error("an engine whose pod is being deleted is not leaving")
		}
	})
}

// No engine is dead while the API server is unreachable or slow. Once it is back, an
// engine that does not renew its Lease is dead after the usual time.
func TestEnginesStayAliveWhileTheAPIServerIsUnreachable(t *testing.T) {
	for name, trouble := range map[string]func(p *fixture, on bool){
		"unreachable": func(p *fixture, on bool) { p.unreachable.Store(on) },
		"slow": func(p *fixture, on bool) {
			if p.delay.Store(0); on {
				p.delay.Store(int64(20 * time.Second))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newFixture(t)
				p.start("e1")
				testclock.Advance(10 * time.Second)
				trouble(p, true)
				p.stopRenewing("e1") // the engine cannot reach the API server either
				testclock.Advance(time.Minute)
				trouble(p, false)
				testclock.Advance(6 * time.Second)
				if p.only().Dead {
					t.Error("the engine is dead because the API server was unreachable or slow")
				}
				testclock.Advance(40 * time.Second)
				if !p.only().Dead {
					t.Error("the engine is not dead although the API server has recovered")
				}
			})
		})
	}
}

func TestReportsAreKeptForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFixture(t)
		pod := p.start("e1")
		testclock.Advance(12 * time.Second)
		if p.only().Report == nil || !p.woken() {
			t.Fatal("the engine has no report")
		}
		p.set(pod, &report.Report{Engine: "e1", Draining: true})
		testclock.Advance(12 * time.Second)
		if e := p.only(); !e.Leaving() || !p.woken() {
			t.Error("an engine that reports Draining is not leaving, or no Archiver was woken")
		}
		p.set(pod, &report.Report{Engine: "e2"})
		testclock.Advance(20 * time.Second)
		if r := p.only().Report; r == nil || r.Engine != "e1" {
			t.Errorf("report is %+v, want that of e1: another engine answers at its address", r)
		}
		testclock.Advance(20 * time.Second)
		if r := p.only().Report; r != nil {
			t.Errorf("an old report still counts: %+v", r)
		}
	})
}

func (p *fixture) set(pod *corev1.Pod, r *report.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reports[pod.Status.PodIP] = r
}

func TestReportsAreFetchedInParallelWithABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFixture(t)
		for i := range reportsAtOnce + 2 {
			p.start(fmt.Sprintf("e%02d", i))
		}
		testclock.Advance(20 * time.Second)
		engines, _ := p.fleet.Engines(t.Context(), mainArchiver)
		for _, e := range engines {
			if e.Report == nil {
				t.Errorf("engine %s has no report", e.Name)
			}
		}
		if len(engines) != reportsAtOnce+2 || p.maxFetching != reportsAtOnce {
			t.Errorf("%d engines, %d requests at once", len(engines), p.maxFetching)
		}
	})
}

// The object of an evicted pod still exists, but the pod is not an engine.
func TestEndedPodsDoNotCountAsEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFixture(t)
		p.start("e1")
		evicted := p.start("e2")
		evicted.Status.Phase = corev1.PodFailed
		if err := p.client.Status().Update(t.Context(), evicted); err != nil {
			t.Fatal(err)
		}
		testclock.Advance(5 * time.Second)
		if e := p.only(); e.Name != "e1" {
			t.Errorf("the ended pod %s counts as an engine", e.Name)
		}
	})
}

func TestZoneIsReadFromTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFixture(t)
		p.start("e1")
		testclock.Advance(5 * time.Second)
		if e := p.only(); e.Node != "node-1" || e.Zone != "" {
			t.Errorf("node %q, zone %q", e.Node, e.Zone)
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: "node-1", Labels: map[string]string{corev1.LabelTopologyZone: "hall"},
		}}
		if err := p.client.Create(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		testclock.Advance(zoneKept + 5*time.Second)
		if e := p.only(); e.Zone != "hall" {
			t.Errorf("zone %q", e.Zone)
		}
	})
}
