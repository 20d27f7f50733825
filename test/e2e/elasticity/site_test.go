package elasticity

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/e2e/lab"
	"varve.dev/varve/test/epics"
)

// engines is the number of engines that an archive starts with.
const engines = 3

// site is an archive under load.
type site struct {
	*lab.Lab
	iocs       []*epics.IOC
	pvs        []string
	redundancy int
	shards     int32 // number of shards; as many more have the PVs with redundancy 2
	// restless is true if groups are edited all the time, so that some shards always move.
	restless bool
}

// newSite creates an archive and waits until it captures all PVs. archiver overrides the usual
// settings. period is the value of the PVs' SCAN field, at which they count.
func newSite(ctx context.Context, namespace string, redundancy int, period string, archiver lab.Spec) *site {
	GinkgoHelper()
	s := &site{redundancy: redundancy, pvs: archive.Names("SEQ:", rate()/perPV)}
	s.iocs = []*epics.IOC{epics.StartIOCOn(GinkgoTB(), lab.HostIP, strings.ReplaceAll(archive.Counting(s.pvs), hot, period))}
	s.install(ctx, namespace, archiver)
	lab.Apply(s.Namespace, listed("counting", s.pvs, fmt.Sprintf("redundancy: %d", redundancy)))
	s.AwaitReadable(ctx, s.pvs, time.Now())
	return s
}

// install creates the archive of a site whose IOCs run.
func (s *site) install(ctx context.Context, namespace string, archiver lab.Spec) {
	GinkgoHelper()
	spec := lab.Spec{
		"engines":   lab.Spec{"replicas": engines},
		"retrieval": lab.Spec{"replicas": 2, "service": lab.Spec{"type": "NodePort"}, "access": lab.Everybody},
	}
	maps.Copy(spec, archiver)
	s.Lab = lab.New(ctx, namespace, spec, s.iocs...)
	var a v1alpha1.Archiver
	Expect(lab.Kube.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: "main"}, &a)).To(Succeed())
	s.shards = a.Spec.Shards
	s.HTTP.Timeout = 15 * time.Second // also ends requests to a lost pod, so that the client connects to another pod
}

// listed returns the manifests of a group and of the ConfigMaps that list its PVs.
func listed(group string, pvs []string, settings ...string) (manifests string) {
	var lists []string
	for part := range slices.Chunk(pvs, 1000) {
		name := fmt.Sprintf("%s-%d", group, len(lists))
		manifests += lab.ConfigMap(name, part...)
		lists = append(lists, name)
	}
	return manifests + lab.Group(group, append(settings, lab.From(lists...))...)
}

// awaitHealthy waits until the given number of engines captures all shards. In a restless archive,
// shards may move.
func (s *site) awaitHealthy(ctx SpecContext, replicas int) {
	GinkgoHelper()
	judge := s.unhealthy
	if s.restless {
		judge = s.short
	}
	Eventually(ctx, func() string { return judge(ctx, replicas) }).WithTimeout(lab.Patience).Should(BeEmpty(), "the archive is healthy")
}

// scale sets the number of engines and waits until they capture all shards.
func (s *site) scale(ctx SpecContext, replicas int) {
	GinkgoHelper()
	lab.Kubectl("scale", "archiver", "main", "-n", s.Namespace, fmt.Sprintf("--replicas=%d", replicas))
	s.awaitHealthy(ctx, replicas)
}

// move adds an engine and returns when shards begin to move to it.
func (s *site) move(ctx SpecContext) {
	GinkgoHelper()
	lab.Kubectl("scale", "archiver", "main", "-n", s.Namespace, fmt.Sprintf("--replicas=%d", engines+1))
	Eventually(ctx, func() string { return s.broken(ctx) }).WithTimeout(lab.Patience).ShouldNot(BeEmpty(), "shards that move")
}

// unhealthy describes why an archive is not healthy. In a healthy archive, engines capture all
// shards, no shard moves, and the given number of engines is ready and has shards.
func (s *site) unhealthy(ctx context.Context, replicas int) string {
	v := s.readView(ctx)
	switch {
	case v.broken != "":
		return v.broken
	case v.draining != "":
		return v.draining
	case v.ready != replicas || len(v.busy) != replicas:
		return fmt.Sprintf("%d engines are ready and %d have shards, want %d", v.ready, len(v.busy), replicas)
	}
	return ""
}

// broken describes a shard with an assigned engine that does not capture it or is not ready, or
// with fewer capturing engines than its redundancy requires.
func (s *site) broken(ctx context.Context) string { return s.readView(ctx).broken }

// short describes why the archive could lose samples with the next loss of one of the given number
// of engines. Shards may move.
func (s *site) short(ctx context.Context, replicas int) string {
	v := s.readView(ctx)
	switch {
	case v.ready != replicas:
		return cmp.Or(v.broken, fmt.Sprintf("%d engines are ready, want %d", v.ready, replicas))
	case v.short != "":
		return v.short
	}
	return ""
}

// view is the state of an archive according to the API server.
type view struct {
	ready            int             // number of ready engines
	busy             map[string]bool // engines that capture a shard
	broken, draining string          // description of one such shard
	short            string          // description of a shard that too few engines capture
}

func (s *site) readView(ctx context.Context) (v view) {
	ready, err := s.readyEngines(ctx)
	var shards v1alpha1.ArchiveShardList
	if err == nil {
		err = lab.Kube.List(ctx, &shards, client.InNamespace(s.Namespace))
	}
	if err != nil {
		return view{broken: err.Error()}
	}
	v = view{ready: len(ready), busy: map[string]bool{}}
	for i := range shards.Items {
		if sh := &shards.Items[i]; sh.Spec.Channels > 0 {
			v.add(sh, ready, s.redundancyOf(sh))
		}
	}
	return v
}

// redundancyOf returns the number of engines that must capture a shard.
func (s *site) redundancyOf(sh *v1alpha1.ArchiveShard) int {
	if sh.Spec.Index != nil && *sh.Spec.Index >= s.shards {
		return 2
	}
	return 1
}

func (v *view) add(sh *v1alpha1.ArchiveShard, ready map[string]bool, redundancy int) {
	captured := 0
	for _, e := range sh.Spec.Engines {
		switch is := phase(sh, e.Name); {
		case e.Order != v1alpha1.OrderCapture:
			if ready[e.Name] { // a lost engine keeps its order until its pod is deleted
				v.draining = fmt.Sprintf("%s: %s is ordered to drain", sh.Name, e.Name)
			}
		case is != v1alpha1.Capturing || !ready[e.Name]:
			v.broken = fmt.Sprintf("%s: %s is ordered to capture, but has phase %s and ready %t", sh.Name, e.Name, is, ready[e.Name])
		default:
			captured++
			v.busy[e.Name] = true
		}
	}
	if captured < redundancy {
		v.short = fmt.Sprintf("%s is captured by only %d engines", sh.Name, captured)
		v.broken = cmp.Or(v.broken, v.short)
	}
}

func phase(sh *v1alpha1.ArchiveShard, engine string) v1alpha1.ShardPhase {
	if sh.Status != nil {
		for _, e := range sh.Status.Engines {
			if e.Name == engine {
				return e.Phase
			}
		}
	}
	return ""
}

func (s *site) readyEngines(ctx context.Context) (map[string]bool, error) {
	pods, err := s.enginePods(ctx)
	names := map[string]bool{}
	for _, p := range pods {
		if p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			names[p.Name] = true
		}
	}
	return names, err
}

func (s *site) enginePods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := lab.Kube.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.LabelComponent: "engine"})
	return pods.Items, err
}

// anEngine returns an engine that a fault may strike. It directs all later reads to a node other
// than the engine's.
func (s *site) anEngine(ctx SpecContext) corev1.Pod {
	GinkgoHelper()
	victims := s.victims(ctx)
	Expect(victims).NotTo(BeEmpty(), "engines on nodes without the operator")
	victim := victims[0]
	var nodes corev1.NodeList
	Expect(lab.Kube.List(ctx, &nodes)).To(Succeed())
	for k := range nodes.Items {
		if node := &nodes.Items[k]; node.Name != victim.Spec.NodeName {
			s.ReadBy(node)
		}
	}
	return victim
}

// victims returns the engines on nodes without the operator, because separate specs test faults
// of the operator.
func (s *site) victims(ctx SpecContext) (found []corev1.Pod) {
	GinkgoHelper()
	var operators corev1.PodList
	Expect(lab.Kube.List(ctx, &operators, client.InNamespace(lab.OperatorNamespace))).To(Succeed())
	spared := map[string]bool{}
	for _, p := range operators.Items {
		spared[p.Spec.NodeName] = true
	}
	pods, err := s.enginePods(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, p := range pods {
		if p.DeletionTimestamp == nil && !spared[p.Spec.NodeName] {
			found = append(found, p)
		}
	}
	return found
}
