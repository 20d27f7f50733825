package elasticity

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

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

// spoolDir is the folder of an engine's spool.
const spoolDir = "/var/spool/varve"

var faults = []fault{
	{name: "kill", atMost: restarted, inject: func(_ SpecContext, _ *site, o *occurrence) {
		lab.Kill(o.engine.Name)
	}},
	{name: "delete-pod", planned: true, inject: func(ctx SpecContext, s *site, o *occurrence) {
		lab.Kubectl("delete", "pod", "-n", s.Namespace, o.engine.Name, "--timeout=5m")
		s.awaitHealthy(ctx, engines)
	}},
	{name: "force-delete-pod", atMost: replaced, inject: func(ctx SpecContext, s *site, o *occurrence) {
		lab.Kubectl("delete", "pod", "-n", s.Namespace, o.engine.Name, "--grace-period=0", "--force")
		s.awaitHealthy(ctx, engines)
	}},
	{name: "node-lost", atMost: replaced, inject: func(_ SpecContext, _ *site, o *occurrence) {
		o.loseNode()
	}},
	{name: "drain-node", planned: true, inject: func(_ SpecContext, _ *site, o *occurrence) {
		node := o.engine.Spec.NodeName
		o.later(func() { lab.Kubectl("uncordon", node) })
		lab.Kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=5m")
	}},
	{name: "rolling-upgrade", planned: true, inject: func(ctx SpecContext, s *site, _ *occurrence) {
		s.rollOut("main-engine")
		s.awaitHealthy(ctx, engines)
	}},
	{name: "retrieval-upgrade", planned: true, answered: true, sparesEngines: true, inject: func(_ SpecContext, s *site, _ *occurrence) {
		s.rollOut("main-retrieval")
	}},
	{name: "scale", planned: true, inject: func(ctx SpecContext, s *site, _ *occurrence) {
		for _, replicas := range []int{2, 4, 2, engines} {
			s.scale(ctx, replicas)
		}
	}},
	{name: "operator-crash", planned: true, inject: func(ctx SpecContext, s *site, _ *occurrence) {
		s.move(ctx)
		lab.Kill(lab.PodsOf(ctx, lab.OperatorNamespace, "app.kubernetes.io/name=varve-operator")[0])
		s.awaitHealthy(ctx, engines+1)
		s.scale(ctx, engines)
	}},
	{name: "api-server-away", atMost: outage(time.Minute) + reachable + replaced, lasts: time.Minute, stopsAPIServer: true, inject: func(ctx SpecContext, _ *site, o *occurrence) {
		o.loseNode()
		start := o.later(func() { lab.ClusterScript("start", "kube-apiserver") })
		lab.ClusterScript("stop", "kube-apiserver")
		pause(ctx, o.lasts)
		start()
	}},
	{name: "cassandra-away", atMost: replaced + outage(5*time.Minute), lasts: 5 * time.Minute, inject: func(ctx SpecContext, _ *site, o *occurrence) {
		lab.Database.Kill()
		pause(ctx, o.lasts/2)
		o.loseNode()
		pause(ctx, o.lasts/2)
		lab.Database.Start(GinkgoTB())
	}},
	{name: "full-disk", planned: true, lasts: time.Minute, inject: func(ctx SpecContext, _ *site, o *occurrence) {
		free, err := lab.FillDisk(o.engine.Name, spoolDir, "LOCK")
		if err != nil {
			GinkgoWriter.Printf("no disk is full: %v\n", err) // samples wait in the spool, or the engine is gone
			return
		}
		free = o.later(free)
		start := o.later(func() { lab.Database.Start(GinkgoTB()) })
		lab.Database.Kill()
		pause(ctx, o.lasts/2)
		if o.choice%2 == 0 { // the disk has space before the end of the outage
			free()
		}
		pause(ctx, o.lasts/2)
		start()
	}},
	{name: "ioc-network-cut", atMost: replaced + outage(time.Minute), lasts: time.Minute, inject: func(ctx SpecContext, s *site, o *occurrence) {
		heal := o.later(s.cutIOC(o.engine.Status.PodIP))
		pause(ctx, o.lasts)
		heal()
	}},
}

// loseNode stops the engine's node abruptly. The node returns when the occurrence is healed.
func (o *occurrence) loseNode() {
	GinkgoHelper()
	node := o.engine.Spec.NodeName
	lab.ClusterScript("node-down", node)
	o.later(func() { lab.ClusterScript("node-up", node) })
}

// rollOut replaces all pods of a Deployment.
func (s *site) rollOut(deployment string) {
	GinkgoHelper()
	lab.Kubectl("rollout", "restart", "deployment", deployment, "-n", s.Namespace)
	lab.Kubectl("rollout", "status", "deployment", deployment, "-n", s.Namespace, "--timeout=8m")
}

// cutIOC drops all packets between a pod and the Channel Access ports of the IOCs until heal is
// called.
func (s *site) cutIOC(pod string) (heal func()) {
	GinkgoHelper()
	const table = "varve-test"
	var ports []string
	for _, ioc := range s.iocs {
		ports = append(ports, strconv.Itoa(ioc.CAPort))
	}
	rules := fmt.Sprintf(`table inet %[1]s {
		chain from { type filter hook input priority -10; ip saddr %[2]s th dport { %[3]s } drop; }
		chain to { type filter hook output priority -10; ip daddr %[2]s th sport { %[3]s } drop; }
	}`, table, pod, strings.Join(ports, ", "))
	_, err := lab.Feed(rules, "nft", "-f", "-")
	Expect(err).NotTo(HaveOccurred())
	return func() { _, _ = lab.Run("nft", "delete", "table", "inet", table) }
}
