package controllers_test

import (
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"varve.dev/varve/api/v1alpha1"
)

// This spec is Serial because deleting a CRD affects all namespaces.
var _ = Describe("A CRD that is deleted and installed again", Serial, Ordered, func() {
	remove := func(ctx SpecContext, plural string) {
		GinkgoHelper()
		crds, err := client.New(restConfig, client.Options{Scheme: crdScheme()})
		Expect(err).NotTo(HaveOccurred())
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + ".varve.dev"}}
		Expect(crds.Delete(ctx, crd)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(crds.Get(ctx, client.ObjectKeyFromObject(crd), crd))
		}).Should(BeTrue())
	}
	install := func() {
		GinkgoHelper()
		_, err := envtest.InstallCRDs(restConfig, envtest.CRDInstallOptions{Paths: []string{filepath.Join("..", "charts", "varve-operator", "files", "crds")}, MaxTime: patience})
		Expect(err).NotTo(HaveOccurred())
	}

	It("ArchiveShard: engines keep the shards that they capture", func(ctx SpecContext) {
		DeferCleanup(install)
		p := newShardsFixture(ctx)
		p.startEngines(ctx, "e1", "e2")
		p.archiver(ctx)
		p.group(ctx, "g", "A:", 100, nil)
		Eventually(func() []string { return p.owners(ctx) }).Should(HaveLen(8))
		before := p.owners(ctx)
		Eventually(func() int { return p.reported(ctx) }).Should(Equal(8))
		remove(ctx, "archiveshards")
		install()
		Eventually(func(g Gomega) {
			var list v1alpha1.ArchiveShardList
			g.Expect(k8s.List(ctx, &list, client.InNamespace(p.namespace))).To(Succeed())
			g.Expect(list.Items).To(HaveLen(8))
		}, time.Minute).Should(Succeed())
		Eventually(func() []string { return p.owners(ctx) }, time.Minute).Should(Equal(before))
		Expect(p.captured(ctx)).To(HaveLen(100))
	})

	It("ArchiveGroup: no PV stops being captured", func(ctx SpecContext) {
		DeferCleanup(install)
		p := newShardsFixture(ctx)
		p.startEngines(ctx, "e1", "e2")
		p.archiver(ctx)
		p.group(ctx, "g", "A:", 100, nil)
		Eventually(func() []string { return p.owners(ctx) }).Should(HaveLen(8))
		remove(ctx, "archivegroups")
		Consistently(func() []string { return p.captured(ctx) }, 2*time.Second).Should(HaveLen(100))
		Expect(k8s.Delete(ctx, &p.shards(ctx)[0])).To(Succeed())
		Eventually(func() []string { return p.captured(ctx) }).Should(HaveLen(100), "a lost shard must get its lists again")
	})
})

func crdScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	Expect(apiextensionsv1.AddToScheme(s)).To(Succeed())
	return s
}
