package e2e

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"varve.dev/varve/test/archive"
	"varve.dev/varve/test/e2e/lab"
	"varve.dev/varve/test/epics"
)

var _ = Describe("Uninstalling", Ordered, func() {
	var (
		l     *lab.Lab
		pvs   = archive.Names("BYE:", 50)
		begin time.Time
	)

	// remains returns the objects of the archive that are still in the namespace.
	remains := func() []string {
		GinkgoHelper()
		out := lab.Kubectl("get", "deployments,services,jobs,pods,pdb,networkpolicies,serviceaccounts,roles,rolebindings,leases,configmaps,archivers,archiveshards",
			"-n", l.Namespace, "-l", "varve.dev/archiver=main", "-o", "name")
		return strings.Fields(out)
	}

	BeforeAll(func(ctx SpecContext) {
		ioc := epics.StartIOCOn(GinkgoTB(), lab.HostIP, archive.Counting(pvs))
		l = lab.New(ctx, "uninstalled", lab.Spec{"engines": lab.Spec{"replicas": 1}}, ioc)
		lab.Apply(l.Namespace, lab.Group("pvs", "deletionPolicy: Delete", lab.Inline(pvs[:25]...))+lab.Group("kept", lab.Inline(pvs[25:]...)))
		l.AwaitReadable(ctx, pvs, time.Now())
		begin = time.Now()
	}, NodeTimeout(2*lab.Patience))

	It("in order leaves only the groups, and a new installation adopts the data", func(ctx SpecContext) {
		lab.Helm("uninstall", "main", "-n", l.Namespace)
		Eventually(ctx, remains).WithTimeout(lab.Patience).Should(BeEmpty())
		ended := time.Now()
		l.Install(ctx)
		l.AwaitReadable(ctx, pvs, ended)
		for _, pv := range pvs[:3] {
			events, err := l.Events(pv, begin)
			Expect(err).NotTo(HaveOccurred())
			Expect(events[0].Time).To(BeNumerically("<", ended.UnixNano()), "samples from before the uninstallation")
		}
	}, SpecTimeout(3*lab.Patience))

	It("in the wrong order also leaves only the groups", func(ctx SpecContext) {
		lab.Helm("uninstall", "varve-operator", "-n", lab.OperatorNamespace, "--wait")
		DeferCleanup(func() { lab.InstallOperator() })
		lab.Helm("uninstall", "main", "-n", l.Namespace)
		Eventually(ctx, remains).WithTimeout(lab.Patience).Should(BeEmpty())
		Expect(lab.Kubectl("get", "crd", "-o", "name")).To(ContainSubstring("archivegroups.varve.dev"), "the CRDs and the groups stay")
		lab.Kubectl("delete", "archivegroup", "kept", "-n", l.Namespace, "--timeout=1m")
		By("removing the finalizer of a group whose data cannot be deleted without an operator, as the documentation says")
		lab.Kubectl("delete", "archivegroup", "pvs", "-n", l.Namespace, "--wait=false")
		lab.Kubectl("patch", "archivegroup", "pvs", "-n", l.Namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		Eventually(ctx, func() string { return lab.Kubectl("get", "archivegroups", "-n", l.Namespace, "-o", "name") }).Should(BeEmpty())
	}, SpecTimeout(3*lab.Patience))

	It("by deleting the namespace completes", func(ctx SpecContext) {
		l.Install(ctx)
		lab.Apply(l.Namespace, lab.Group("pvs", "deletionPolicy: Delete", lab.Inline(pvs...)))
		l.AwaitReadable(ctx, pvs, time.Now())
		ns := &corev1.Namespace{}
		ns.Name = l.Namespace
		Expect(lab.Kube.Delete(ctx, ns)).To(Succeed())
		Eventually(ctx, func() bool { return lab.Gone(ctx, ns) }).WithTimeout(lab.Patience).Should(BeTrue())
	}, SpecTimeout(3*lab.Patience))
})
