package elasticity

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/test/e2e/lab"
)

// With redundancy 1, the gap in a PV's samples is the sum of three times:
//   - a flush interval (1 s)
//   - the restart of the container, or the expiry of the Lease (10 s; it is renewed every 2 s)
//   - the connection by another engine (8 s on a machine that runs the whole test)
const (
	restarted = 15 * time.Second
	replaced  = 21 * time.Second
)

// reachable is the time within which pods must reach a restarted API server again. The API
// server has to start. Then kube-proxy, which has removed the API server's address from the
// nodes, has to restore it.
const reachable = 90 * time.Second

var faults = []fault{
	{name: "kill", atMost: restarted, strike: func(_ SpecContext, _ *site, engine corev1.Pod) {
		lab.Kill(engine.Name)
	}},
	{name: "delete-pod", planned: true, strike: func(ctx SpecContext, s *site, engine corev1.Pod) {
		lab.Kubectl("delete", "pod", "-n", s.Namespace, engine.Name, "--timeout=5m")
		Eventually(ctx, func() string { return s.unhealthy(ctx, engines) }).WithTimeout(lab.Patience).Should(BeEmpty())
	}},
	{name: "force-delete-pod", atMost: replaced, strike: func(ctx SpecContext, s *site, engine corev1.Pod) {
		lab.Kubectl("delete", "pod", "-n", s.Namespace, engine.Name, "--grace-period=0", "--force")
		Eventually(ctx, func() string { return s.unhealthy(ctx, engines) }).WithTimeout(lab.Patience).Should(BeEmpty())
	}},
	{name: "node-lost", atMost: replaced, strike: func(_ SpecContext, _ *site, engine corev1.Pod) {
		loseNode(engine)
	}},
	{name: "drain-node", planned: true, strike: func(_ SpecContext, _ *site, engine corev1.Pod) {
		node := engine.Spec.NodeName
		DeferCleanup(lab.Kubectl, "uncordon", node)
		lab.Kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=5m")
	}},
	{name: "rolling-upgrade", planned: true, strike: func(ctx SpecContext, s *site, _ corev1.Pod) {
		lab.Kubectl("rollout", "restart", "deployment", "main-engine", "-n", s.Namespace)
		lab.Kubectl("rollout", "status", "deployment", "main-engine", "-n", s.Namespace, "--timeout=8m")
		Eventually(ctx, func() string { return s.unhealthy(ctx, engines) }).WithTimeout(lab.Patience).Should(BeEmpty())
	}},
	{name: "retrieval-upgrade", planned: true, answered: true, strike: func(_ SpecContext, s *site, _ corev1.Pod) {
		lab.Kubectl("rollout", "restart", "deployment", "main-retrieval", "-n", s.Namespace)
		lab.Kubectl("rollout", "status", "deployment", "main-retrieval", "-n", s.Namespace, "--timeout=8m")
	}},
	{name: "scale", planned: true, strike: func(ctx SpecContext, s *site, _ corev1.Pod) {
		for _, replicas := range []int{2, 4, 2, engines} {
			s.scale(ctx, replicas)
		}
	}},
	{name: "operator-crash", planned: true, strike: func(ctx SpecContext, s *site, _ corev1.Pod) {
		s.move(ctx)
		lab.Kill(lab.PodsOf(ctx, lab.OperatorNamespace, "app.kubernetes.io/name=varve-operator")[0])
		Eventually(ctx, func() string { return s.unhealthy(ctx, engines+1) }).WithTimeout(lab.Patience).Should(BeEmpty())
		s.scale(ctx, engines)
	}},
	{name: "api-server-away", atMost: outage(time.Minute) + reachable + replaced, strike: func(ctx SpecContext, _ *site, engine corev1.Pod) {
		loseNode(engine)
		DeferCleanup(lab.ClusterScript, "start", "kube-apiserver")
		lab.ClusterScript("stop", "kube-apiserver")
		pause(ctx, outage(time.Minute))
		lab.ClusterScript("start", "kube-apiserver")
	}},
	{name: "cassandra-away", atMost: replaced + outage(5*time.Minute), strike: func(ctx SpecContext, _ *site, engine corev1.Pod) {
		lab.Database.Kill()
		half := outage(5*time.Minute) / 2
		pause(ctx, half)
		loseNode(engine)
		pause(ctx, half)
		lab.Database.Start(GinkgoTB())
	}},
	{name: "ioc-network-cut", atMost: replaced + outage(time.Minute), strike: func(ctx SpecContext, s *site, engine corev1.Pod) {
		heal := s.cutIOC(engine.Status.PodIP)
		DeferCleanup(heal)
		pause(ctx, outage(time.Minute))
		heal()
	}},
}

// loseNode stops an engine's node abruptly. The node returns when the spec is over.
func loseNode(engine corev1.Pod) {
	GinkgoHelper()
	lab.ClusterScript("node-down", engine.Spec.NodeName)
	DeferCleanup(lab.ClusterScript, "node-up", engine.Spec.NodeName)
}

// cutIOC drops all packets between a pod and the IOC's Channel Access port until heal is called.
func (s *site) cutIOC(pod string) (heal func()) {
	GinkgoHelper()
	const table = "varve-test"
	rules := fmt.Sprintf(`table inet %[1]s {
		chain from { type filter hook input priority -10; ip saddr %[2]s th dport %[3]d drop; }
		chain to { type filter hook output priority -10; ip daddr %[2]s th sport %[3]d drop; }
	}`, table, pod, s.ioc.CAPort)
	_, err := lab.Feed(rules, "nft", "-f", "-")
	Expect(err).NotTo(HaveOccurred())
	return func() { _, _ = lab.Run("nft", "delete", "table", "inet", table) }
}
