package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/e2e/lab"
	"varve.dev/varve/test/epics"
)

var _ = Describe("A new archive", Label("smoke"), func() {
	It("stores samples of 2,000 PVs within seconds of kubectl apply", func(ctx SpecContext) {
		pvs := archive.Names("NEW:", 2000)
		ioc := epics.StartIOCOn(GinkgoTB(), lab.HostIP, archive.Counting(pvs))
		l := lab.New(ctx, "new-archive", lab.Spec{"engines": lab.Spec{"replicas": 2}}, ioc)

		applied := time.Now()
		lab.Apply(l.Namespace, lab.ConfigMap("first", pvs[:1000]...)+lab.ConfigMap("second", pvs[1000:]...)+
			lab.Group("vacuum", lab.From("first", "second"), "sampling: {mode: Monitor}", "retention: {raw: 90d}"))
		Eventually(ctx, func() (uint64, error) {
			sum, err := l.Summary()
			return sum.Stored, err
		}).WithPolling(50*time.Millisecond).Should(BeNumerically(">", 0), "number of stored samples")
		lab.Figure("kubectl apply → first sample stored", "%.2f s", time.Since(applied).Seconds())
		l.AwaitReadable(ctx, pvs, applied)
		whole := time.Now()
		lab.Figure("kubectl apply → all 2,000 PVs captured", "%.2f s", l.LastBegun(pvs, applied).Sub(applied).Seconds())
		lab.Figure("kubectl apply → samples of all 2,000 PVs read, by one request each", "%.2f s", whole.Sub(applied).Seconds())

		Eventually(ctx, l.Condition("vacuum", "Ready")).Should(HavePrefix("True"))
		Eventually(ctx, func() int32 { return l.Counts("vacuum")().Connected }).Should(BeEquivalentTo(2000))
		lab.Helm("test", "main", "-n", l.Namespace, "--timeout", "2m")
		lab.Show("get", "archivers,archivegroups", "-n", l.Namespace)
		lab.Show("get", "archiveshards", "-n", l.Namespace)
		Eventually(ctx, time.After(either(5*time.Second, time.Minute))).Should(Receive()) // some more samples
		lab.Figure("samples read, with each step once", "%d", l.CheckComplete(pvs, whole))
	}, SpecTimeout(8*time.Minute))

	It("runs without Cassandra on a volume of its own", func(ctx SpecContext) {
		pvs := archive.Names("TRY:", 100)
		ioc := epics.StartIOCOn(GinkgoTB(), lab.HostIP, archive.Counting(pvs))
		l := lab.New(ctx, "embedded-archive", lab.Spec{"storage": lab.Spec{"embedded": lab.Spec{"size": "1Gi"}}}, ioc)
		lab.Apply(l.Namespace, lab.Group("ca", lab.Inline(pvs[:50]...))+lab.Group("pva", "provider: PVA", lab.Inline(pvs[50:]...)))
		l.AwaitReadable(ctx, pvs, time.Now())

		By("restarting the pod, which must keep the archive")
		since := time.Now()
		lab.Kubectl("delete", "pod", "-n", l.Namespace, "-l", "app.kubernetes.io/component=engine", "--wait=false")
		l.AwaitReadable(ctx, pvs, since.Add(15*time.Second))
		events, err := l.Events(pvs[0], since.Add(-time.Minute))
		Expect(err).NotTo(HaveOccurred())
		Expect(events[0].Time).To(BeNumerically("<", since.UnixNano()), "samples from before the restart")

		By("uninstalling the archive, and installing it again on the remaining volume")
		lab.Helm("uninstall", "main", "-n", l.Namespace, "--wait")
		Eventually(ctx, func() string {
			return lab.Kubectl("get", "pods", "-n", l.Namespace, "-l", "varve.dev/archiver=main", "-o", "name")
		}).WithTimeout(lab.Patience).Should(BeEmpty())
		again := time.Now()
		l.Install(ctx)
		l.AwaitReadable(ctx, pvs, again)
		events, err = l.Events(pvs[0], since.Add(-time.Minute))
		Expect(err).NotTo(HaveOccurred())
		Expect(events[0].Time).To(BeNumerically("<", since.UnixNano()), "samples from before the uninstallation")
	}, SpecTimeout(8*time.Minute))
})
