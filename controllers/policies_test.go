package controllers_test

import (
	"context"
	"log/slog"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/mirror"
	"varve.dev/varve/controllers/policy"
	"varve.dev/varve/retrieval/policies"
)

// newPolicy returns a policy that gives the PVs with a prefix to an ArchiveGroup.
func newPolicy(namespace, name, prefix, owner string) *v1alpha1.ArchivePolicy {
	return &v1alpha1.ArchivePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.ArchivePolicySpec{
		ArchiverRef: v1alpha1.ArchiverReference{Name: "main"}, Prefixes: []v1alpha1.PVPrefix{v1alpha1.PVPrefix(prefix)},
		Owners: v1alpha1.PolicyOwners{ArchiveGroups: []string{owner}, Users: []v1alpha1.AccessName{"ann"}},
	}}
}

var _ = Describe("ArchivePolicies", func() {
	It("stop groups from archiving and erasing what they do not own", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		p.startEngines(ctx, "e1")
		p.archiver(ctx)
		owner := p.group(ctx, "vacuum", "VAC:", 5, nil)
		thief := p.group(ctx, "thief", "VAC:", 10, func(spec *v1alpha1.ArchiveGroupSpec) { spec.DeletionPolicy = v1alpha1.DeleteData })
		p.group(ctx, "magnets", "MAG:", 3, nil)
		Eventually(func() []string { return p.captured(ctx) }).Should(Equal(append(pvNames("MAG:", 3), pvNames("VAC:", 10)...)))

		By("creating a policy")
		vac := newPolicy(p.namespace, "vac", "VAC:", "vacuum")
		Expect(k8s.Create(ctx, vac)).To(Succeed())
		Eventually(func() []string { return p.captured(ctx) }).Should(Equal(append(pvNames("MAG:", 3), pvNames("VAC:", 5)...)))
		r := &policy.Reconciler{Client: k8s, Outcomes: p.outcomes, Recorder: events.NewFakeRecorder(100)}
		Eventually(func(g Gomega) {
			_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(vac)})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(vac), vac)).To(Succeed())
			g.Expect(vac.Status.Channels).To(BeEquivalentTo(5))
			g.Expect(vac.Status.Refused).To(BeEquivalentTo(10))
			g.Expect(meta.IsStatusConditionTrue(vac.Status.Conditions, v1alpha1.ConditionEffective)).To(BeTrue())
			g.Expect(meta.FindStatusCondition(vac.Status.Conditions, v1alpha1.ConditionWarning).Message).To(And(
				ContainSubstring(p.namespace+"/thief (10 channels)"), ContainSubstring("nobody can read these PVs")))
		}).Should(Succeed())

		By("deleting the group that does not own the PVs, together with its data")
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(thief), thief)).To(Succeed())
			g.Expect(controllerutil.ContainsFinalizer(thief, v1alpha1.DataFinalizer)).To(BeTrue())
		}).Should(Succeed())
		Expect(k8s.Delete(ctx, owner)).To(Succeed()) // so that no group archives the PVs
		Eventually(func() []string { return p.captured(ctx) }).Should(Equal(pvNames("MAG:", 3)))
		Expect(k8s.Delete(ctx, thief)).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(thief), thief)) }).Should(BeTrue())
		Eventually(func(g Gomega) {
			var all eventsv1.EventList
			g.Expect(k8s.List(ctx, &all, client.InNamespace(p.namespace))).To(Succeed())
			g.Expect(all.Items).To(ContainElement(And(
				HaveField("Regarding.Name", "thief"), HaveField("Reason", "DataDeleted"),
				HaveField("Note", "The data of 0 PVs was deleted; the data of 10 PVs stays, because no ArchivePolicy lets the group own them"))))
		}).Should(Succeed())

		By("removing the policy")
		Expect(k8s.Delete(ctx, vac)).To(Succeed())
		p.group(ctx, "again", "VAC:", 10, nil)
		Eventually(func() []string { return p.captured(ctx) }).Should(HaveLen(13))
	})

	It("reach pods that serve readers without a restart", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		c, err := mirror.NewClient(restConfig)
		Expect(err).NotTo(HaveOccurred())
		pod := policies.New(c, namespace, "main", GinkgoT().TempDir(), slog.New(slog.DiscardHandler))
		Expect(pod.Ready()).To(MatchError(ContainSubstring("are not known yet")))
		_, known := pod.Current()
		Expect(known).To(BeFalse())
		run, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { pod.Run(run) })
		DeferCleanup(func() { cancel(); running.Wait() })
		sees := func(user string) func() bool {
			return func() bool {
				set, known := pod.Current()
				return known && set.For(user, nil).Sees("VAC:P")
			}
		}
		Eventually(sees("bob")).Should(BeTrue())
		Expect(pod.Ready()).To(Succeed())

		vac := newPolicy(namespace, "vac", "VAC:", "vacuum")
		Expect(k8s.Create(ctx, vac)).To(Succeed())
		Eventually(sees("bob")).Should(BeFalse())
		Expect(sees("ann")()).To(BeTrue())
		edit(ctx, vac, func() { vac.Spec.Owners.Users = []v1alpha1.AccessName{"bob"} })
		Eventually(sees("bob")).Should(BeTrue())
		Expect(sees("ann")()).To(BeFalse())
		edit(ctx, vac, func() { vac.Spec.ArchiverRef.Name = "other" })
		Eventually(sees("ann")).Should(BeTrue())
	})
})
