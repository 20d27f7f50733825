package controllers_test

import (
	"context"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers"
	"varve.dev/varve/controllers/policy"
)

// removeCRD deletes a CRD, and waits until it is gone.
func removeCRD(ctx SpecContext, plural string) {
	GinkgoHelper()
	crds, err := client.New(restConfig, client.Options{Scheme: crdScheme()})
	Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + ".varve.dev"}}
	Expect(crds.Delete(ctx, crd)).To(Succeed())
	Eventually(func() bool {
		return apierrors.IsNotFound(crds.Get(ctx, client.ObjectKeyFromObject(crd), crd))
	}).Should(BeTrue())
}

// dropFinalizers removes the finalizers of all ArchiveGroups. Groups of earlier specs may have one, and no operator
// runs any more that would remove it: the group would keep its CRD.
func dropFinalizers(ctx SpecContext) {
	GinkgoHelper()
	var groups v1alpha1.ArchiveGroupList
	Expect(k8s.List(ctx, &groups)).To(Succeed())
	for i := range groups.Items {
		if g := &groups.Items[i]; len(g.Finalizers) > 0 {
			before := client.MergeFrom(g.DeepCopy())
			g.Finalizers = nil
			Expect(client.IgnoreNotFound(k8s.Patch(ctx, g, before))).To(Succeed())
		}
	}
}

// installCRDs installs all CRDs.
func installCRDs() {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(restConfig, envtest.CRDInstallOptions{Paths: []string{filepath.Join("..", "charts", "varve-operator", "files", "crds")}, MaxTime: patience})
	Expect(err).NotTo(HaveOccurred())
}

// This spec is Serial because deleting a CRD affects all namespaces.
var _ = Describe("A CRD that is deleted and installed again", Serial, Ordered, func() {
	It("ArchiveShard: engines keep the shards that they capture", func(ctx SpecContext) {
		DeferCleanup(installCRDs)
		p := newShardsFixture(ctx)
		p.startEngines(ctx, "e1", "e2")
		p.archiver(ctx)
		p.group(ctx, "g", "A:", 100, nil)
		Eventually(func() []string { return p.owners(ctx) }).Should(HaveLen(8))
		before := p.owners(ctx)
		Eventually(func() int { return p.reported(ctx) }).Should(Equal(8))
		removeCRD(ctx, "archiveshards")
		installCRDs()
		Eventually(func(g Gomega) {
			var list v1alpha1.ArchiveShardList
			g.Expect(k8s.List(ctx, &list, client.InNamespace(p.namespace))).To(Succeed())
			g.Expect(list.Items).To(HaveLen(8))
		}, time.Minute).Should(Succeed())
		Eventually(func() []string { return p.owners(ctx) }, time.Minute).Should(Equal(before))
		Expect(p.captured(ctx)).To(HaveLen(100))
	})

	It("ArchiveGroup: no PV stops being captured", func(ctx SpecContext) {
		DeferCleanup(installCRDs)
		p := newShardsFixture(ctx)
		p.startEngines(ctx, "e1", "e2")
		p.archiver(ctx)
		p.group(ctx, "g", "A:", 100, nil)
		Eventually(func() []string { return p.owners(ctx) }).Should(HaveLen(8))
		dropFinalizers(ctx)
		removeCRD(ctx, "archivegroups")
		Consistently(func() []string { return p.captured(ctx) }, 2*time.Second).Should(HaveLen(100))
		Expect(k8s.Delete(ctx, &p.shards(ctx)[0])).To(Succeed())
		Eventually(func() []string { return p.captured(ctx) }).Should(HaveLen(100), "a lost shard must get its lists again")
	})
})

// A missing CRD affects all namespaces, so these specs are Serial, too.
var _ = Describe("The CRD of ArchivePolicies", Serial, Ordered, func() {
	It("is missing when the operator starts: it says what to apply, and works when the CRD is there", func(ctx SpecContext) {
		DeferCleanup(installCRDs)
		removeCRD(ctx, "archivepolicies")
		p := newShardsFixture(ctx)
		others := p.startOthers(ctx)
		p.startEngines(ctx, "e1")
		a := p.archiver(ctx)
		p.group(ctx, "g", "A:", 20, nil)
		degraded := func() *metav1.Condition {
			if s := get(ctx, a).Status; s != nil {
				return meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionDegraded)
			}
			return nil
		}
		Eventually(degraded).Should(HaveValue(And(HaveField("Reason", v1alpha1.ReasonCRDMissing), HaveField("Message", And(
			ContainSubstring("the CRD archivepolicies.varve.dev is missing"), ContainSubstring("kubectl apply --server-side -f charts/varve-operator/files/crds"))))))
		Expect(p.captured(ctx)).To(BeEmpty(), "nobody knows who owns the PVs")
		Expect(childrenOf(ctx, p.namespace)).NotTo(BeEmpty(), "the pods of the archive do not wait for policies")

		installCRDs()
		vac := newPolicy(p.namespace, "vac", "A:000", "others") // refuses A:0000 to A:0009
		Expect(k8s.Create(ctx, vac)).To(Succeed())
		Eventually(func() []string { return p.captured(ctx) }, patience).Should(Equal(pvNames("A:", 20)[10:]))
		Eventually(func() bool {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(vac), vac)).To(Succeed())
			return vac.Status != nil && meta.IsStatusConditionTrue(vac.Status.Conditions, v1alpha1.ConditionEffective)
		}, patience).Should(BeTrue())
		Eventually(degraded).Should(HaveValue(Not(HaveField("Reason", v1alpha1.ReasonCRDMissing))))
		Expect(others.Err()).NotTo(HaveOccurred())
	})

	It("is deleted: groups capture and erase no more than the policies allowed", func(ctx SpecContext) {
		DeferCleanup(installCRDs)
		p := newShardsFixture(ctx)
		p.startEngines(ctx, "e1")
		p.archiver(ctx)
		Expect(k8s.Create(ctx, newPolicy(p.namespace, "vac", "VAC:", "vacuum"))).To(Succeed())
		Eventually(func() bool { return p.outcomes.Get(key(p.namespace, "main")) != nil }).Should(BeTrue())
		p.group(ctx, "magnets", "MAG:", 3, nil)
		thief := p.group(ctx, "thief", "VAC:", 10, func(spec *v1alpha1.ArchiveGroupSpec) { spec.DeletionPolicy = v1alpha1.DeleteData })
		Eventually(func() []string { return p.captured(ctx) }).Should(Equal(pvNames("MAG:", 3)))
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(thief), thief)).To(Succeed())
			g.Expect(controllerutil.ContainsFinalizer(thief, v1alpha1.DataFinalizer)).To(BeTrue())
		}).Should(Succeed())

		removeCRD(ctx, "archivepolicies")
		Eventually(func() string { return p.outcomes.Get(key(p.namespace, "main")).MissingCRD }).Should(Equal("archivepolicies.varve.dev"))
		Expect(k8s.Delete(ctx, thief)).To(Succeed())
		Consistently(func(g Gomega) {
			g.Expect(p.captured(ctx)).To(Equal(pvNames("MAG:", 3)))
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(thief), thief)).To(Succeed(), "the group waits for the policies")
		}, 2*time.Second).Should(Succeed())
	})
})

// startOthers runs the reconcilers of the operator that do not compile groups, until the spec ends. The context that it
// returns ends with an error if they end by themselves.
func (p *shardsFixture) startOthers(ctx context.Context) context.Context {
	GinkgoHelper()
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme: scheme, Cache: controllers.CacheOptions([]string{p.namespace}), Logger: GinkgoLogr,
		Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	Expect(err).NotTo(HaveOccurred())
	a := archivers(mgr, p.namespace)
	a.Fleet, a.Outcomes = p.fleet, p.outcomes
	Expect(a.SetupWithManager(mgr)).To(Succeed())
	r := &policy.Reconciler{Client: mgr.GetClient(), Outcomes: p.outcomes, Recorder: mgr.GetEventRecorder("varve-operator")}
	Expect(r.SetupWithManager(mgr)).To(Succeed())
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended, end := context.WithCancelCause(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		end(mgr.Start(run))
	}()
	DeferCleanup(func() { cancel(); <-done })
	return ended
}

func crdScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	Expect(apiextensionsv1.AddToScheme(s)).To(Succeed())
	return s
}
