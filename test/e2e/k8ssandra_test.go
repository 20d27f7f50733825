package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/authority"
	"varve.dev/varve/test/e2e/lab"
	"varve.dev/varve/test/epics"
)

// joining is the time within which a Cassandra node must join or leave.
const joining = 15 * time.Minute

var _ = Describe("An archive whose Cassandra runs by k8ssandra-operator", Label("k8ssandra"), Ordered, func() {
	var l *lab.Lab
	var whole time.Time
	pvs := archive.Names("KCS:", 100)

	BeforeAll(func(ctx SpecContext) {
		lab.ClusterScript("k8ssandra-operator")
		ioc := epics.StartIOCOn(GinkgoTB(), lab.HostIP, archive.Counting(pvs))
		lab.MakeNamespace("k8ssandra")
		nodeCertificate(ctx, "k8ssandra", "cassandra-tls", "main-db-main-service.k8ssandra.svc")
		begun := time.Now()
		l = lab.NewIn(ctx, "k8ssandra", lab.Spec{"storage": lab.Spec{"cassandra": lab.Spec{"managed": lab.Spec{
			"operator": "K8ssandra", "size": 1, "storage": "4Gi", "heapSize": "512Mi",
			"tls":       lab.Spec{"secretRef": lab.Spec{"name": "cassandra-tls"}},
			"resources": lab.Spec{"requests": lab.Spec{"cpu": "100m", "memory": "1Gi"}, "limits": lab.Spec{"memory": "2Gi"}},
		}}}}, ioc)
		lab.Apply(l.Namespace, lab.Group("counting", lab.Inline(pvs...)))
		l.AwaitReadable(ctx, pvs, begun)
		whole = time.Now()
		lab.Figure("Archiver applied → all PVs read", "%.0f s", whole.Sub(begun).Seconds())
	}, NodeTimeout(4*lab.Patience))

	It("reads back what it stored", func(ctx SpecContext) {
		cluster := &unstructured.Unstructured{}
		cluster.SetAPIVersion("k8ssandra.io/v1alpha1")
		cluster.SetKind("K8ssandraCluster")
		Eventually(ctx, func(g Gomega) {
			g.Expect(lab.Kube.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: "main-db"}, cluster)).To(Succeed())
			status, _, err := unstructured.NestedMap(cluster.Object, "status")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(status).To(HaveKeyWithValue("error", "None"))
			g.Expect(status).To(HaveKeyWithValue("observedGeneration", cluster.GetGeneration()))
			g.Expect(fmt.Sprint(status["conditions"])).To(ContainSubstring("CassandraInitialized"))
		}).WithTimeout(lab.Patience).Should(Succeed(), "the K8ssandraCluster is ready")
		a := managedArchiver(ctx, l, Default)
		Expect(a.Status.Cassandra.Kind).To(Equal("K8ssandraCluster"))
		Expect(a.Status.Cassandra.Name).To(Equal("main-db"))
		lab.Show("get", "k8ssandraclusters,cassandradatacenters,statefulsets,services,secrets,pods", "-n", l.Namespace)
		Eventually(ctx, time.After(10*time.Second)).Should(Receive()) // some more samples
		lab.Figure("samples read, with each step once", "%d", l.CheckComplete(pvs, whole))
	}, SpecTimeout(3*lab.Patience))

	for _, size := range []int32{2, 1} {
		It(fmt.Sprintf("captures all samples while it changes to %d nodes", size), func(ctx SpecContext) {
			begun := time.Now()
			lab.Kubectl("patch", "archiver", "main", "-n", l.Namespace, "--type=merge",
				"-p", fmt.Sprintf(`{"spec":{"storage":{"cassandra":{"managed":{"size":%d}}}}}`, size))
			Eventually(ctx, func(g Gomega) {
				a := managedArchiver(ctx, l, g)
				g.Expect(a.Status.Cassandra.Nodes).To(Equal(fmt.Sprintf("%d/%d", size, size)))
				g.Expect(a.Status.Cassandra.ReplicationFactor).To(Equal(size))
				c := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionCassandraReady)
				g.Expect(c.Status).To(Equal(metav1.ConditionTrue), "%s: %s", c.Reason, c.Message)
			}).WithTimeout(joining).WithPolling(time.Second).Should(Succeed())
			lab.Figure(fmt.Sprintf("changed to %d nodes", size), "%.0f s", time.Since(begun).Seconds())
			l.AwaitReadable(ctx, pvs, time.Now())
			lab.Figure("samples read, with each step once", "%d", l.CheckComplete(pvs, whole))
		}, SpecTimeout(joining+2*lab.Patience))
	}

	It("has its data again after it was deleted and created again", func(ctx SpecContext) {
		to := time.Now().Add(-time.Minute)
		before, err := l.AllEvents(pvs, whole)
		Expect(err).NotTo(HaveOccurred())
		lab.Helm("uninstall", "main", "-n", l.Namespace, "--wait")
		Eventually(ctx, func() []string { return lab.PodsOf(ctx, l.Namespace, "") }).WithTimeout(lab.Patience).Should(BeEmpty())
		begun := time.Now()
		l.Install(ctx)
		var after map[string][]archive.Event
		Eventually(ctx, func() (err error) { // a new retrieval pod may be slow at first
			after, err = l.AllEvents(pvs, whole)
			return err
		}).WithTimeout(lab.Patience).Should(Succeed())
		for _, pv := range pvs {
			Expect(until(after[pv], to)).To(Equal(until(before[pv], to)), pv)
		}
		lab.Figure("created again → all PVs read", "%.0f s", time.Since(begun).Seconds())
	}, SpecTimeout(joining))
})

// nodeCertificate creates the Secret with the certificate of Cassandra's nodes.
func nodeCertificate(ctx SpecContext, namespace, name, host string) {
	GinkgoHelper()
	a := authority.New(GinkgoTB())
	cert, key := a.Issue(GinkgoTB(), host)
	Expect(lab.Kube.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string][]byte{"tls.crt": cert, "tls.key": key, "tls-combined.pem": append(key, cert...), "ca.crt": a.PEM()},
	})).To(Succeed())
}

// until returns the events before a time.
func until(events []archive.Event, t time.Time) (out []archive.Event) {
	for _, e := range events {
		if e.Time < t.UnixNano() {
			out = append(out, e)
		}
	}
	return out
}

// managedArchiver returns the Archiver, whose status must show a managed Cassandra.
func managedArchiver(ctx SpecContext, l *lab.Lab, g Gomega) *v1alpha1.Archiver {
	var a v1alpha1.Archiver
	g.Expect(lab.Kube.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: "main"}, &a)).To(Succeed())
	g.Expect(a.Status).NotTo(BeNil())
	g.Expect(a.Status.Cassandra).NotTo(BeNil())
	return &a
}
