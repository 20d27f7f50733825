package e2e

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/epics"
)

var _ = Describe("Uninstalling", Ordered, func() {
	var (
		l     *lab
		pvs   = archive.Names("BYE:", 50)
		begin time.Time
	)

	// remains returns what a namespace still has of an archive.
	remains := func() []string {
		GinkgoHelper()
		out := kubectl("get", "deployments,services,jobs,pods,pdb,networkpolicies,serviceaccounts,roles,rolebindings,leases,configmaps,archivers,archiveshards",
			"-n", l.namespace, "-l", "varve.dev/archiver=main", "-o", "name")
		return strings.Fields(out)
	}

	BeforeAll(func(ctx SpecContext) {
		ioc := epics.StartIOCOn(GinkgoTB(), hostIP, archive.Counting(pvs))
		l = newLab(ctx, "uninstalled", spec{"engines": spec{"replicas": 1}}, ioc)
		apply(l.namespace, group("pvs", "deletionPolicy: Delete", inline(pvs[:25]...))+group("kept", inline(pvs[25:]...)))
		l.awaitReadable(ctx, pvs, time.Now())
		begin = time.Now()
	}, NodeTimeout(2*patience))

	It("in order leaves nothing but the groups, and installing again adopts the data", func(ctx SpecContext) {
		helm("uninstall", "main", "-n", l.namespace)
		Eventually(ctx, remains).WithTimeout(patience).Should(BeEmpty())
		ended := time.Now()
		l.install(ctx)
		l.awaitReadable(ctx, pvs, ended)
		for _, pv := range pvs[:3] {
			events, err := l.Events(pv, begin)
			Expect(err).NotTo(HaveOccurred())
			Expect(events[0].Time).To(BeNumerically("<", ended.UnixNano()), "samples from before")
		}
	}, SpecTimeout(3*patience))

	It("in the wrong order leaves nothing either", func(ctx SpecContext) {
		helm("uninstall", "varve-operator", "-n", operatorNamespace, "--wait")
		DeferCleanup(func() { installOperator() })
		helm("uninstall", "main", "-n", l.namespace)
		Eventually(ctx, remains).WithTimeout(patience).Should(BeEmpty())
		Expect(kubectl("get", "crd", "-o", "name")).To(ContainSubstring("archivegroups.varve.dev"), "definitions stay, and groups with them")
		kubectl("delete", "archivegroup", "kept", "-n", l.namespace, "--timeout=1m")
		By("letting go of a group whose data nobody can delete, as the documents say")
		kubectl("delete", "archivegroup", "pvs", "-n", l.namespace, "--wait=false")
		kubectl("patch", "archivegroup", "pvs", "-n", l.namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		Eventually(ctx, func() string { return kubectl("get", "archivegroups", "-n", l.namespace, "-o", "name") }).Should(BeEmpty())
	}, SpecTimeout(3*patience))

	It("by deleting the namespace ends", func(ctx SpecContext) {
		l.install(ctx)
		apply(l.namespace, group("pvs", "deletionPolicy: Delete", inline(pvs...)))
		l.awaitReadable(ctx, pvs, time.Now())
		ns := &corev1.Namespace{}
		ns.Name = l.namespace
		Expect(kube.Delete(ctx, ns)).To(Succeed())
		Eventually(ctx, func() bool { return gone(ctx, ns) }).WithTimeout(patience).Should(BeTrue())
	}, SpecTimeout(3*patience))
})
