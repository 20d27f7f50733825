package controllers_test

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/group"
	"varve.dev/varve/controllers/outcome"
	"varve.dev/varve/groups/channellist"
)

var _ = Describe("Deletions of samples", func() {
	// edit changes a group.
	edit := func(ctx SpecContext, g *v1alpha1.ArchiveGroup, change func(*v1alpha1.ArchiveGroupSpec)) {
		GinkgoHelper()
		Eventually(func() error {
			if err := k8s.Get(ctx, client.ObjectKeyFromObject(g), g); err != nil {
				return err
			}
			change(&g.Spec)
			return k8s.Update(ctx, g)
		}).Should(Succeed())
	}
	hour := func(h int) *metav1.Time { return new(metav1.NewTime(time.Now().Add(time.Duration(h) * time.Hour))) }
	// ordered returns the PVs of all orders, with the number of their engines.
	ordered := func(ctx SpecContext, p *shardsFixture) (pvs []string) {
		GinkgoHelper()
		for _, s := range p.shards(ctx) {
			for _, o := range s.Spec.Erasures {
				for _, name := range o.Lists {
					cm := &corev1.ConfigMap{}
					Expect(k8s.Get(ctx, key(p.namespace, name), cm)).To(Succeed())
					channels, err := channellist.Decode(cm.BinaryData[v1alpha1.ChannelListKey])
					Expect(err).NotTo(HaveOccurred())
					for _, ch := range channels {
						pvs = append(pvs, fmt.Sprint(ch.PV, " ", len(s.Spec.Engines)))
					}
				}
			}
		}
		slices.Sort(pvs)
		return pvs
	}

	It("are ordered from the engines that seal their PVs, and the status of the group shows how far they are", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		p.startEnginesOn(ctx, "a", "a1")
		p.startEnginesOn(ctx, "b", "b1")
		p.archiver(ctx)
		g := p.group(ctx, "g", "A:", 40, func(spec *v1alpha1.ArchiveGroupSpec) { spec.Redundancy = 2 })
		Eventually(func() []string { return p.captured(ctx) }).Should(HaveLen(40))
		recorder := events.NewFakeRecorder(100)
		r := &group.Reconciler{Client: k8s, Fleet: p.fleet, Outcomes: p.outcomes, Recorder: recorder}
		status := func() (texts []string) {
			_, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(g)})
			if err != nil || k8s.Get(ctx, client.ObjectKeyFromObject(g), g) != nil || g.Status == nil {
				return nil
			}
			for _, d := range g.Status.Deletions {
				texts = append(texts, fmt.Sprintf("%d %s: %s", *d.Index, d.State, d.Message))
			}
			return texts
		}

		By("ordering two deletions, one of them for later")
		edit(ctx, g, func(spec *v1alpha1.ArchiveGroupSpec) {
			spec.Deletions = []v1alpha1.SampleDeletion{
				{PVs: []string{"A:0000", "A:0001", "A:0002", "GONE"}, From: hour(-2), To: hour(-1), Reason: "bad calibration"},
				{PVs: []string{"A:0003"}, To: hour(1), Reason: "wrong PV"},
			}
		})
		Eventually(func() []string { return ordered(ctx, p) }).Should(Equal([]string{"A:0000 2", "A:0001 2", "A:0002 2", "GONE 1"}))
		later := ContainElement(HavePrefix("1 Waiting: nothing is deleted before "))
		Eventually(status).Should(And(later, ContainElement(MatchRegexp("^0 Waiting: ([2-4]) of ([2-4]) shards have not begun"))))

		By("hiding the samples with both engines")
		p.erase("a1", v1alpha1.DeletionHidden)
		p.erase("b1", v1alpha1.DeletionHidden)
		Eventually(status).Should(And(later, ContainElement(MatchRegexp("^0 Hidden: .* removed from disk for 0 of [2-4] PVs"))))
		since := *g.Status.Deletions[0].Since

		By("restarting the operator")
		outcomes := p.outcomes
		r.Outcomes = &outcome.Latest{}
		Consistently(status, time.Second).Should(ContainElement(HavePrefix("0 Hidden: ")))
		r.Outcomes = outcomes
		Expect(g.Status.Deletions[0].Since.Time).To(Equal(since.Time))

		By("removing the samples")
		p.erase("a1", v1alpha1.DeletionDone)
		p.erase("b1", v1alpha1.DeletionDone)
		Eventually(status).Should(ContainElement("0 Done: "))
		Eventually(recorder.Events).Should(Receive(ContainSubstring("SamplesHidden deletions[0]")))
		Eventually(recorder.Events).Should(Receive(ContainSubstring("SamplesDeleted deletions[0]")))

		By("losing an engine: the other one seals, and knows nothing yet")
		p.startEnginesOn(ctx, "a", "a2")
		p.removePod(ctx, "a1")
		p.removePod(ctx, "b1")
		Eventually(func() bool {
			return !slices.ContainsFunc(p.shards(ctx), func(s v1alpha1.ArchiveShard) bool {
				return s.Status == nil || len(s.Status.Engines) != 1 || s.Status.Engines[0].Name != "a2"
			})
		}, patience).Should(BeTrue())
		Consistently(status, time.Second).Should(ContainElement("0 Done: "))

		By("removing the entries")
		edit(ctx, g, func(spec *v1alpha1.ArchiveGroupSpec) { spec.Deletions = nil })
		Eventually(func() []string { return ordered(ctx, p) }).Should(BeEmpty())
		Eventually(status).Should(BeEmpty())
	})

	It("wait while their PVs move between shards", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		p.startEnginesOn(ctx, "a", "a1")
		p.startEnginesOn(ctx, "b", "b1")
		a := p.archiver(ctx)
		g := p.group(ctx, "g", "A:", 40, nil)
		p.group(ctx, "other", "B:", 1, func(spec *v1alpha1.ArchiveGroupSpec) {
			spec.Deletions = []v1alpha1.SampleDeletion{{PVs: []string{"B:0000"}, To: hour(-1), Reason: "wrong PV"}}
		})
		Eventually(func() []string { return ordered(ctx, p) }).Should(Equal([]string{"B:0000 1"}))
		Eventually(func() []string { return p.owners(ctx) }).Should(HaveLen(8))
		edit(ctx, g, func(spec *v1alpha1.ArchiveGroupSpec) {
			spec.Redundancy = 2
			spec.Deletions = []v1alpha1.SampleDeletion{{PVs: []string{"A:0000"}, To: hour(-1), Reason: "bad calibration"}}
		})
		Eventually(func() string {
			if o := p.outcomes.Get(client.ObjectKeyFromObject(a)); o != nil && len(o.Deletions[p.namespace+"/g"]) == 1 {
				return o.Deletions[p.namespace+"/g"][0].Message
			}
			return ""
		}).Should(ContainSubstring("moved to other shards"))
		Eventually(func() (former int) { // their old shards no longer capture them
			for _, s := range p.shards(ctx) {
				former += len(s.Spec.Former)
			}
			return former
		}, time.Minute).Should(BeNumerically(">", 0))
		Consistently(func() []string { return ordered(ctx, p) }, 2*time.Second).Should(Equal([]string{"B:0000 1"}))
	})
})
