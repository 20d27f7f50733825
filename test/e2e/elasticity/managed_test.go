package elasticity

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/test/e2e/lab"
)

// scaling is the time within which Cassandra nodes must join or leave one by one and receive
// their replicas.
const scaling = 15 * time.Minute

var _ = Describe("An archive with a managed Cassandra", Label("managed"), Ordered, func() {
	var s *site

	BeforeAll(func(ctx SpecContext) {
		lab.ClusterScript("cassandra-operator")
		begun := time.Now()
		s = newSite(ctx, "managed", 2, hot, lab.Spec{"storage": lab.Spec{"cassandra": lab.Spec{"managed": lab.Spec{
			"operator": "CassOperator", "size": 1, "storage": "4Gi", "heapSize": "512Mi",
			"resources": lab.Spec{"requests": lab.Spec{"cpu": "100m", "memory": "1Gi"}, "limits": lab.Spec{"memory": "2Gi"}},
		}}}})
		lab.Figure("Archiver applied → all PVs read", "%.0f s", time.Since(begun).Seconds())
	}, NodeTimeout(3*lab.Patience))

	It("has its data again after it was deleted and created again", func(ctx SpecContext) {
		s.awaitHealthy(ctx, engines)
		from := time.Now().Add(-time.Minute)
		to := time.Now().Add(-durable)
		before := s.readAll(ctx, from, to)
		lab.Helm("uninstall", "main", "-n", s.Namespace, "--wait")
		Eventually(ctx, func() []string {
			return lab.PodsOf(ctx, s.Namespace, "")
		}).WithTimeout(lab.Patience).Should(BeEmpty(), "pods of a deleted Archiver")
		begun := time.Now()
		s.Install(ctx)
		Expect(s.readAll(ctx, from, to)).To(Equal(before))
		lab.Figure("created again → all PVs read", "%.0f s", time.Since(begun).Seconds())
	}, SpecTimeout(2*scaling))

	for _, size := range []int32{2, 3} {
		It(fmt.Sprintf("grows to %d nodes", size), func(ctx SpecContext) { s.endures(ctx, s.resize(size)) }, SpecTimeout(2*scaling))
	}

	It("endures the deletion of a Cassandra pod", func(ctx SpecContext) {
		s.endures(ctx, fault{name: "cassandra-pod", planned: true, inject: func(ctx SpecContext, s *site, _ *occurrence) {
			lab.Kubectl("delete", "pod", "-n", s.Namespace, s.cassandraPod(ctx).Name, "--grace-period=0", "--force")
			s.awaitCassandra(ctx, v1alpha1.ReasonNodesDown, metav1.ConditionFalse)
			s.awaitCassandra(ctx, v1alpha1.ReasonNodesReady, metav1.ConditionTrue)
		}})
	}, SpecTimeout(2*scaling))

	It("endures the loss of the Kubernetes node of a Cassandra pod", Label("bare"), func(ctx SpecContext) {
		s.endures(ctx, fault{name: "cassandra-host-lost", planned: true, lasts: 5 * time.Minute, inject: func(ctx SpecContext, s *site, o *occurrence) {
			o.loseNode()
			s.awaitCassandra(ctx, v1alpha1.ReasonNodesDown, metav1.ConditionFalse)
			pause(ctx, o.lasts)
			o.heal()
			s.awaitCassandra(ctx, v1alpha1.ReasonNodesReady, metav1.ConditionTrue)
		}})
	}, SpecTimeout(2*scaling))

	It("shrinks to 2 nodes", func(ctx SpecContext) { s.endures(ctx, s.resize(2)) }, SpecTimeout(2*scaling))
})

// resize returns a planned fault that changes the number of Cassandra nodes. It must lose no
// sample.
func (s *site) resize(size int32) fault {
	return fault{name: fmt.Sprintf("cassandra-to-%d", size), planned: true, inject: func(ctx SpecContext, s *site, _ *occurrence) {
		lab.Kubectl("patch", "archiver", "main", "-n", s.Namespace, "--type=merge",
			"-p", fmt.Sprintf(`{"spec":{"storage":{"cassandra":{"managed":{"size":%d}}}}}`, size))
		Eventually(ctx, func(g Gomega) {
			a := s.managedArchiver(ctx, g)
			g.Expect(a.Status.Cassandra.Nodes).To(Equal(fmt.Sprintf("%d/%d", size, size)))
			g.Expect(a.Status.Cassandra.ReplicationFactor).To(Equal(min(3, size)))
			c := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionCassandraReady)
			g.Expect(string(c.Status)).To(Equal("True"), "%s: %s", c.Reason, c.Message)
		}).WithTimeout(scaling).WithPolling(time.Second).Should(Succeed())
	}}
}

// awaitCassandra waits until the Archiver's condition CassandraReady has a reason and a status.
func (s *site) awaitCassandra(ctx SpecContext, reason string, status metav1.ConditionStatus) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		c := meta.FindStatusCondition(s.managedArchiver(ctx, g).Status.Conditions, v1alpha1.ConditionCassandraReady)
		g.Expect(c.Reason).To(Equal(reason), c.Message)
		g.Expect(c.Status).To(Equal(status))
	}).WithTimeout(scaling).WithPolling(time.Second).Should(Succeed())
}

func (s *site) managedArchiver(ctx SpecContext, g Gomega) *v1alpha1.Archiver {
	var a v1alpha1.Archiver
	g.Expect(lab.Kube.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: "main"}, &a)).To(Succeed())
	g.Expect(a.Status).NotTo(BeNil())
	g.Expect(a.Status.Cassandra).NotTo(BeNil())
	return &a
}

func (s *site) cassandraPod(ctx SpecContext) corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(lab.Kube.List(ctx, &pods, client.InNamespace(s.Namespace), client.HasLabels{"cassandra.datastax.com/node-state"})).To(Succeed())
	Expect(pods.Items).NotTo(BeEmpty())
	return pods.Items[len(pods.Items)-1]
}
