package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
)

// simulatedEngine is the state of a simulated engine. The fixture's mutex guards it.
type simulatedEngine struct {
	ip     string
	silent bool // does not renew its Lease, report, or update a status
	stuck  bool // joins further shards but never captures them
	blind  bool // connects no channels
	// erases is how far the engine is with each deletion of samples. If it is empty, the engine does not answer.
	erases v1alpha1.DeletionState
	phases map[int]v1alpha1.ShardPhase
	named  map[int]bool // shards whose spec names the engine
	lists  map[int][]string
	// channels are the numbers of channels of the shards.
	channels map[int]int32
}

// startEngines adds engines, all on one node.
func (p *shardsFixture) startEngines(ctx context.Context, names ...string) {
	GinkgoHelper()
	p.startEnginesOn(ctx, "node-1", names...)
}

// startEnginesOn adds engines on a node. Each engine gets a ready pod. It returns once the operator
// knows all of them: if it knew only some when it places shards, it would move shards later.
func (p *shardsFixture) startEnginesOn(ctx context.Context, node string, names ...string) {
	GinkgoHelper()
	for _, name := range names {
		p.startEngine(ctx, node, name, func(*simulatedEngine) {})
	}
	Eventually(func() []string { return p.usable(ctx) }, patience).Should(ContainElements(names))
}

// startEngine adds an engine on a node. change may change its behaviour before it gets shards.
func (p *shardsFixture) startEngine(ctx context.Context, node, name string, change func(*simulatedEngine)) {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name, Labels: map[string]string{
			v1alpha1.LabelName: "varve", v1alpha1.LabelComponent: v1alpha1.ComponentEngine, v1alpha1.LabelArchiver: "main",
		}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "engine", Image: "varve"}}},
	}
	Expect(k8s.Create(ctx, pod)).To(Succeed())
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.namespace, Name: name, Labels: map[string]string{v1alpha1.LabelArchiver: "main"},
	}}
	Expect(client.IgnoreAlreadyExists(k8s.Create(ctx, lease))).To(Succeed())
	p.mu.Lock()
	p.started++
	ip := fmt.Sprint("10.0.0.", p.started)
	e := &simulatedEngine{
		ip: ip, phases: map[int]v1alpha1.ShardPhase{}, named: map[int]bool{}, lists: map[int][]string{}, channels: map[int]int32{},
	}
	change(e)
	p.engines[name] = e
	p.mu.Unlock()
	pod.Status.PodIP = ip
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	Expect(k8s.Status().Update(ctx, pod)).To(Succeed())
	p.wake()
}

// usable returns the engines that can get shards, as far as the operator knows.
func (p *shardsFixture) usable(ctx context.Context) (names []string) {
	GinkgoHelper()
	engines, err := p.fleet.Engines(ctx, types.NamespacedName{Namespace: p.namespace, Name: "main"})
	Expect(err).NotTo(HaveOccurred())
	for _, e := range engines {
		if e.Usable() {
			names = append(names, e.Name)
		}
	}
	return names
}

// erase sets how far an engine is with all deletions of samples.
func (p *shardsFixture) erase(name string, state v1alpha1.DeletionState) {
	p.mu.Lock()
	p.engines[name].erases = state
	p.mu.Unlock()
	p.wake()
}

// silence makes an engine unresponsive, as if its node had lost power.
func (p *shardsFixture) silence(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.engines[name].silent = true
}

// removePod deletes a pod without a grace period.
func (p *shardsFixture) removePod(ctx context.Context, name string) {
	GinkgoHelper()
	p.mu.Lock()
	delete(p.engines, name)
	p.mu.Unlock()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
	Expect(client.IgnoreNotFound(k8s.Delete(ctx, pod, client.GracePeriodSeconds(0)))).To(Succeed())
}

// fetch returns the report of the engine at an IP address.
func (p *shardsFixture) fetch(_ context.Context, pod *corev1.Pod) (*report.Report, error) {
	ip := pod.Status.PodIP
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, e := range p.engines {
		if e.ip != ip || e.silent {
			continue
		}
		r := &report.Report{Engine: name}
		for index, phase := range e.phases {
			r.Shards = append(r.Shards, e.reportShard(index, phase))
		}
		return r, nil
	}
	return nil, errors.New("no answer")
}

// wake makes the simulated engines act.
func (p *shardsFixture) wake() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// wakeAfterChanges makes the simulated engines act after each change of a shard.
func (p *shardsFixture) wakeAfterChanges(ctx context.Context, mgr ctrl.Manager) {
	GinkgoHelper()
	informer, err := mgr.GetCache().GetInformer(ctx, &v1alpha1.ArchiveShard{})
	Expect(err).NotTo(HaveOccurred())
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { p.wake() }, UpdateFunc: func(any, any) { p.wake() }, DeleteFunc: func(any) { p.wake() },
	})
	Expect(err).NotTo(HaveOccurred())
}

// play runs the simulated engines until ctx ends. They act after changes, at most ten times a second.
func (p *shardsFixture) play(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
		}
		p.answer(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// living returns the names of the engines that are not silent.
func (p *shardsFixture) living() (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, e := range p.engines {
		if !e.silent {
			names = append(names, name)
		}
	}
	return names
}

// renewedLeases reads from the API server. In each list of Leases, the engines that are not silent
// have just renewed theirs. Hence no engine seems dead because the test gets no processor time.
type renewedLeases struct {
	client.Reader

	fixture *shardsFixture
}

func (r renewedLeases) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := r.Reader.List(ctx, list, opts...)
	if leases, is := list.(*coordinationv1.LeaseList); is && err == nil {
		r.fixture.renew(leases.Items)
	}
	return err
}

// renew sets when each Lease was renewed last.
func (p *shardsFixture) renew(leases []coordinationv1.Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range leases {
		name := leases[i].Name
		if e := p.engines[name]; e != nil && !e.silent {
			p.renewed[name] = metav1.NowMicro()
		}
		leases[i].Spec.RenewTime = new(p.renewed[name])
	}
}

// answer executes one step of each engine in each shard whose spec names it.
func (p *shardsFixture) answer(ctx context.Context) {
	var shards v1alpha1.ArchiveShardList
	if k8s.List(ctx, &shards, client.InNamespace(p.namespace)) != nil {
		p.wake() // to try again
		return
	}
	living := p.living()
	seen := map[string]map[int]bool{}
	for i := range shards.Items {
		s := &shards.Items[i]
		for _, e := range s.Spec.Engines {
			if !slices.Contains(living, e.Name) {
				continue
			}
			if seen[e.Name] == nil {
				seen[e.Name] = map[int]bool{}
			}
			seen[e.Name][int(*s.Spec.Index)] = true
			p.step(ctx, s, e)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, e := range p.engines {
		e.named = seen[name]
	}
}

// step updates the status of a shard after an order to an engine. If that fails, for example because
// of a conflict, the next call tries again.
func (p *shardsFixture) step(ctx context.Context, s *v1alpha1.ArchiveShard, e v1alpha1.ShardEngine) {
	if s.Status == nil {
		s.Status = &v1alpha1.ArchiveShardStatus{}
	}
	at := slices.IndexFunc(s.Status.Engines, func(a v1alpha1.ShardEngineStatus) bool { return a.Name == e.Name })
	if at < 0 {
		s.Status.Engines = append(s.Status.Engines, v1alpha1.ShardEngineStatus{Name: e.Name})
		at = len(s.Status.Engines) - 1
	}
	before := s.Status.Engines[at]
	now, running := p.state(s, e, &before)
	if !running {
		return
	}
	if before.Phase == now.Phase && slices.Equal(before.Lists, now.Lists) && slices.Equal(before.Deleted, now.Deleted) && equality.Semantic.DeepEqual(before.Erasures, now.Erasures) {
		return
	}
	s.Status.Engines[at] = now
	if k8s.Status().Update(ctx, s) != nil {
		p.wake()
	}
}

// state returns the next state of an engine in a shard, and keeps it for reports. It returns false if
// the pod of the engine is gone.
func (p *shardsFixture) state(
	s *v1alpha1.ArchiveShard, e v1alpha1.ShardEngine, before *v1alpha1.ShardEngineStatus,
) (now v1alpha1.ShardEngineStatus, running bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	engine := p.engines[e.Name]
	if engine == nil {
		return now, false
	}
	now = v1alpha1.ShardEngineStatus{Name: e.Name, Phase: nextPhase(s, e)}
	if engine.stuck && before.Phase == v1alpha1.Joining && now.Phase == v1alpha1.Capturing {
		now.Phase = v1alpha1.Joining
	}
	switch {
	case now.Phase != v1alpha1.Capturing:
	case before.Phase == v1alpha1.Capturing:
		now.Connected = before.Connected
	case engine.blind:
		now.Connected = new(int32)
	default:
		now.Connected = new(s.Spec.Channels)
	}
	if e.Order == v1alpha1.OrderCapture {
		for _, l := range s.Spec.Lists {
			now.Lists = append(now.Lists, l.Name)
		}
		for _, l := range s.Spec.Deletions {
			now.Deleted = append(now.Deleted, l.Name)
		}
		for _, o := range s.Spec.Erasures {
			if engine.erases != "" {
				now.Erasures = append(now.Erasures, v1alpha1.ShardErasureStatus{Name: o.Name, State: engine.erases, PVs: 1})
			}
		}
	}
	index := int(*s.Spec.Index)
	if now.Phase == v1alpha1.Drained {
		delete(engine.phases, index)
	} else {
		engine.phases[index], engine.lists[index], engine.channels[index] = now.Phase, now.Lists, s.Spec.Channels
	}
	return now, true
}

func nextPhase(s *v1alpha1.ArchiveShard, e v1alpha1.ShardEngine) v1alpha1.ShardPhase {
	phases := map[string]v1alpha1.ShardPhase{}
	for _, a := range s.Status.Engines {
		phases[a.Name] = a.Phase
	}
	if e.Order == v1alpha1.OrderCapture {
		if phases[e.Name] == "" {
			return v1alpha1.Joining
		}
		return v1alpha1.Capturing
	}
	for _, other := range s.Spec.Engines {
		if other.Order == v1alpha1.OrderCapture && phases[other.Name] == v1alpha1.Capturing {
			return v1alpha1.Drained
		}
	}
	return v1alpha1.Draining
}
