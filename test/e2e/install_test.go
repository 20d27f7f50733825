package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
)

var _ = Describe("A new archive", Label("smoke"), func() {
	It("stores samples of 2,000 PVs within seconds of kubectl apply", func(ctx SpecContext) {
		pvs := archive.Names("NEW:", 2000)
		ioc := epics.StartIOCOn(GinkgoTB(), hostIP, archive.Counting(pvs))
		l := newLab(ctx, "new-archive", spec{"engines": spec{"replicas": 2}}, ioc)

		applied := time.Now()
		apply(l.namespace, configMap("first", pvs[:1000]...)+configMap("second", pvs[1000:]...)+
			group("vacuum", from("first", "second"), "sampling: {mode: Monitor}", "retention: {raw: 90d}"))
		Eventually(ctx, func() (uint64, error) {
			sum, err := l.Summary()
			return sum.Stored, err
		}).WithPolling(50*time.Millisecond).Should(BeNumerically(">", 0), "samples are stored")
		figure("kubectl apply → first sample stored", "%.2f s", time.Since(applied).Seconds())
		l.awaitReadable(ctx, pvs, applied)
		whole := time.Now()
		figure("kubectl apply → all 2,000 PVs captured", "%.2f s", l.lastBegun(pvs, applied).Sub(applied).Seconds())
		figure("kubectl apply → samples of all 2,000 PVs read, by one request each", "%.2f s", whole.Sub(applied).Seconds())

		Eventually(ctx, l.condition("vacuum", "Ready")).Should(HavePrefix("True"))
		Eventually(ctx, func() int32 { return l.counts("vacuum")().Connected }).Should(BeEquivalentTo(2000))
		helm("test", "main", "-n", l.namespace, "--timeout", "2m")
		show("get", "archivers,archivegroups", "-n", l.namespace)
		show("get", "archiveshards", "-n", l.namespace)
		Eventually(ctx, time.After(either(5*time.Second, time.Minute))).Should(Receive()) // some more samples
		figure("samples read, each step once", "%d", l.checkComplete(pvs, whole))
	}, SpecTimeout(8*time.Minute))

	It("runs without Cassandra, on a volume of its own", func(ctx SpecContext) {
		pvs := archive.Names("TRY:", 100)
		ioc := epics.StartIOCOn(GinkgoTB(), hostIP, archive.Counting(pvs))
		l := newLab(ctx, "embedded-archive", spec{"storage": spec{"embedded": spec{"size": "1Gi"}}}, ioc)
		apply(l.namespace, group("ca", inline(pvs[:50]...))+group("pva", "provider: PVA", inline(pvs[50:]...)))
		l.awaitReadable(ctx, pvs, time.Now())

		By("restarting its pod, which keeps the archive")
		since := time.Now()
		kubectl("delete", "pod", "-n", l.namespace, "-l", "app.kubernetes.io/component=engine", "--wait=false")
		l.awaitReadable(ctx, pvs, since.Add(15*time.Second))
		events, err := l.Events(pvs[0], since.Add(-time.Minute))
		Expect(err).NotTo(HaveOccurred())
		Expect(events[0].Time).To(BeNumerically("<", since.UnixNano()), "samples from before the restart")

		By("uninstalling it, and installing again over the volume that stays")
		helm("uninstall", "main", "-n", l.namespace, "--wait")
		Eventually(ctx, func() string {
			return kubectl("get", "pods", "-n", l.namespace, "-l", "varve.dev/archiver=main", "-o", "name")
		}).WithTimeout(patience).Should(BeEmpty())
		again := time.Now()
		l.install(ctx)
		l.awaitReadable(ctx, pvs, again)
		events, err = l.Events(pvs[0], since.Add(-time.Minute))
		Expect(err).NotTo(HaveOccurred())
		Expect(events[0].Time).To(BeNumerically("<", since.UnixNano()), "samples from before")
	}, SpecTimeout(8*time.Minute))
})
