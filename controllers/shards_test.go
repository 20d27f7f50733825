package controllers_test

import (
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/outcome"
)

var _ = Describe("The shards reconciler", func() {
	It("assigns the channels of groups to engines and then sends no more writes", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		p.startEngines(ctx, "e1", "e2")
		a := p.archiver(ctx)
		p.group(ctx, "inline", "A:", 50, nil)
		p.configMap(ctx, "pvs", pvNames("B:", 50), true)
		p.group(ctx, "listed", "", 0, fromConfigMaps("pvs"))

		Eventually(func() []string { return p.captured(ctx) }).Should(Equal(append(pvNames("A:", 50), pvNames("B:", 50)...)))
		Eventually(func() []string { return p.owners(ctx) }).Should(HaveLen(8))
		owners := p.owners(ctx)
		for _, e := range []string{"e1", "e2"} {
			has := slices.DeleteFunc(slices.Clone(owners), func(o string) bool { return o != e })
			Expect(len(has)).To(BeNumerically("~", 4, 1), "%v", owners)
		}
		for _, s := range p.shards(ctx) {
			Expect(s.Labels).To(HaveKey(v1alpha1.EngineLabel(s.Spec.Engines[0].Name)))
		}
		Eventually(func(g Gomega) {
			o := p.outcomes.Get(client.ObjectKeyFromObject(a))
			g.Expect(o).NotTo(BeNil())
			g.Expect(o.Unplaced + o.Moving + len(o.Outdated)).To(BeZero())
			g.Expect(o.Groups[p.namespace+"/listed"].Channels).To(Equal(50))
		}).Should(Succeed())

		p.writes.quiet()
		p.writes.reset()
		Consistently(func() int { counts, _ := p.writes.reset(); return len(counts) }, 3*time.Second).Should(BeZero())
	})

	It("writes only the objects that an edit changes", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		p.startEngines(ctx, "e1")
		p.archiver(ctx)
		cm := p.configMap(ctx, "pvs", pvNames("B:", 2000), true)
		p.group(ctx, "listed", "", 0, fromConfigMaps("pvs"))
		Eventually(func() []string { return p.owners(ctx) }).Should(HaveLen(8))
		p.writes.quiet()
		p.writes.reset()

		cm.Data["pvs"] += "\nNEW:PV"
		Expect(k8s.Update(ctx, cm)).To(Succeed())
		Eventually(func() []string { return p.captured(ctx) }).Should(ContainElement("NEW:PV"))
		p.writes.quiet()
		counts, _ := p.writes.reset()
		Expect(counts).To(Equal(map[string]int{"PATCH configmaps": 1, "PATCH archiveshards": 1}))
	})

	It("compiles once after a burst of changes", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		p.archiver(ctx)
		Eventually(func() int { return len(p.shards(ctx)) }).Should(Equal(8))
		p.writes.quiet()
		p.writes.reset()
		for i := range 30 {
			p.group(ctx, pvNames("g", 30)[i], pvNames("X", 30)[i]+":", 10, nil)
		}
		Eventually(func() []string { return p.captured(ctx) }).Should(HaveLen(300))
		counts, _ := p.writes.reset()
		Expect(counts["PATCH archiveshards"]).To(BeNumerically("<", 8*10))
	})

	It("repairs objects that were removed or edited manually", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		p.startEngines(ctx, "e1")
		p.archiver(ctx)
		p.group(ctx, "g", "A:", 100, nil)
		Eventually(func() []string { return p.owners(ctx) }).Should(HaveLen(8))
		Eventually(func() []string { return p.captured(ctx) }).Should(HaveLen(100))
		p.writes.quiet()
		before := p.shards(ctx)
		repaired := func(g Gomega) {
			now := p.shards(ctx)
			g.Expect(now).To(HaveLen(8))
			for i := range now {
				g.Expect(now[i].Spec).To(Equal(before[i].Spec))
				g.Expect(now[i].Labels).To(Equal(before[i].Labels))
			}
			g.Expect(p.captured(ctx)).To(HaveLen(100))
		}

		By("deleting a shard")
		Expect(k8s.Delete(ctx, &p.shards(ctx)[0])).To(Succeed())
		Eventually(repaired).Should(Succeed())
		By("removing a label of a shard")
		s := &p.shards(ctx)[1]
		delete(s.Labels, v1alpha1.EngineLabel("e1"))
		Expect(k8s.Update(ctx, s)).To(Succeed())
		Eventually(repaired).Should(Succeed())
		By("removing all labels of a shard")
		s = &p.shards(ctx)[1]
		s.Labels = nil
		Expect(k8s.Update(ctx, s)).To(Succeed())
		Eventually(repaired).Should(Succeed())
		By("editing the spec of a shard")
		s = &p.shards(ctx)[2]
		s.Spec.Engines = append(s.Spec.Engines, v1alpha1.ShardEngine{Name: "nobody", Order: v1alpha1.OrderCapture})
		s.Spec.Lists = append(s.Spec.Lists, v1alpha1.ChannelListReference{Name: "nothing"})
		s.Labels[v1alpha1.EngineLabel("nobody")] = ""
		Expect(k8s.Update(ctx, s)).To(Succeed())
		Eventually(repaired).Should(Succeed())
		By("deleting a list")
		cm := &corev1.ConfigMap{}
		Expect(k8s.Get(ctx, key(p.namespace, before[3].Spec.Lists[0].Name), cm)).To(Succeed())
		Expect(k8s.Delete(ctx, cm)).To(Succeed())
		Eventually(repaired).Should(Succeed())
		By("removing the labels of a list")
		Expect(k8s.Get(ctx, key(p.namespace, before[4].Spec.Lists[0].Name), cm)).To(Succeed())
		cm.Labels = nil
		Expect(k8s.Update(ctx, cm)).To(Succeed())
		Eventually(func() map[string]string {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(cm), cm)).To(Succeed())
			return cm.Labels
		}).Should(HaveKeyWithValue(v1alpha1.LabelChannels, v1alpha1.ChannelList))
		Eventually(repaired).Should(Succeed())
		p.writes.quiet()
	})

	It("assigns lost shards to the engines that still capture them", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		p.startEngines(ctx, "e1", "e2", "e3")
		a := p.archiver(ctx)
		edit(ctx, a, func() { a.Spec.Rebalance = v1alpha1.RebalanceOff }) // so that shards have the same engines until they are lost
		p.group(ctx, "g", "A:", 100, nil)
		Eventually(func() []string { return p.owners(ctx) }).Should(HaveLen(8))
		before := p.owners(ctx)
		Eventually(func() int { return p.reported(ctx) }).Should(Equal(8))
		Expect(k8s.DeleteAllOf(ctx, &v1alpha1.ArchiveShard{}, client.InNamespace(p.namespace))).To(Succeed())
		Eventually(func() []string { return p.owners(ctx) }, 30*time.Second).Should(Equal(before))
		Eventually(func() []string { return p.events(ctx) }).Should(ContainElement("ShardsAdopted"))
	})

	It("continues to capture PVs while their source is missing", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		a := p.archiver(ctx)
		cm := p.configMap(ctx, "pvs", pvNames("B:", 30), true)
		p.group(ctx, "listed", "A:", 10, fromConfigMaps("pvs"))
		url, query := "http://cf/ChannelFinder", "~tag=archive"
		p.group(ctx, "found", "", 0, func(spec *v1alpha1.ArchiveGroupSpec) {
			spec.ChannelsFrom = []v1alpha1.ChannelSource{{ChannelFinder: &v1alpha1.ChannelFinderSource{URL: url, Query: query}}}
		})
		all := append(pvNames("A:", 10), pvNames("B:", 30)...)
		Eventually(func() []string { return p.captured(ctx) }).Should(Equal(all))

		p.finder.answer(url, query, "CF:1", "CF:2")
		all = append(all, "CF:1", "CF:2")
		Eventually(func() []string { return p.captured(ctx) }).Should(Equal(all))

		By("removing the label of a source")
		cm.Labels = nil
		Expect(k8s.Update(ctx, cm)).To(Succeed())
		problem := func() string {
			for _, pr := range p.outcomes.Get(client.ObjectKeyFromObject(a)).Groups[p.namespace+"/listed"].Problems {
				return pr.Message
			}
			return ""
		}
		Eventually(problem).Should(ContainSubstring("has no label"))
		Expect(p.captured(ctx)).To(Equal(all))
		By("deleting the source and adding a group")
		Expect(k8s.Delete(ctx, cm)).To(Succeed())
		p.group(ctx, "more", "Z:", 1, nil)
		all = append(all, "Z:0000")
		Eventually(problem).Should(ContainSubstring("is missing"))
		Eventually(func() []string { return p.captured(ctx) }).Should(Equal(all))
		By("creating the source again with fewer PVs")
		p.configMap(ctx, "pvs", pvNames("B:", 20), true)
		Eventually(func() []string { return p.captured(ctx) }).Should(HaveLen(len(all) - 10))
	})

	It("chooses providers by the names, the groups and the Archiver", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		a := p.archiver(ctx)
		cm := p.configMap(ctx, "pvs", []string{"B:0", "pva://B:1"}, true)
		p.group(ctx, "listed", "A:", 1, fromConfigMaps("pvs"))
		p.group(ctx, "group", "C:", 1, func(spec *v1alpha1.ArchiveGroupSpec) { spec.Provider = v1alpha1.ChannelAccess })
		Eventually(func() []string { return p.captured(ctx) }).Should(Equal([]string{"A:0000", "B:0", "C:0000", "pva://B:1"}))

		By("changing the default provider")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
		a.Spec.EPICS.DefaultProvider = v1alpha1.PVAccess
		Expect(k8s.Update(ctx, a)).To(Succeed())
		all := []string{"C:0000", "pva://A:0000", "pva://B:0", "pva://B:1"}
		Eventually(func() []string { return p.captured(ctx) }).Should(Equal(all))

		By("deleting the ConfigMap and restoring the default provider")
		Expect(k8s.Delete(ctx, cm)).To(Succeed())
		Eventually(func() int {
			return len(p.outcomes.Get(client.ObjectKeyFromObject(a)).Groups[p.namespace+"/listed"].Problems)
		}).Should(Equal(1))
		Expect(p.captured(ctx)).To(Equal(all))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
		a.Spec.EPICS.DefaultProvider = v1alpha1.ChannelAccess
		Expect(k8s.Update(ctx, a)).To(Succeed())
		Eventually(func() []string { return p.captured(ctx) }).Should(Equal([]string{"A:0000", "C:0000", "pva://B:0", "pva://B:1"}))
	})

	It("moves the shards of a leaving engine after another engine has joined them", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		p.startEngines(ctx, "e1", "e2")
		p.archiver(ctx)
		p.group(ctx, "g", "A:", 100, nil)
		Eventually(func() []string { return p.owners(ctx) }).Should(And(HaveLen(8), ContainElement("e1")))
		pod := &corev1.Pod{}
		Expect(k8s.Get(ctx, key(p.namespace, "e1"), pod)).To(Succeed())
		Expect(k8s.Delete(ctx, pod)).To(Succeed()) // the pod still exists, as during its grace period
		Eventually(func() []string {
			for _, s := range p.shards(ctx) {
				Expect(slices.ContainsFunc(s.Status.Engines, func(e v1alpha1.ShardEngineStatus) bool {
					return e.Phase == v1alpha1.Capturing
				})).To(BeTrue(), "shard %s is not captured: %+v", s.Name, s.Status.Engines)
			}
			return p.owners(ctx)
		}).Should(And(HaveLen(8), HaveEach("e2")))
		p.removePod(ctx, "e1")
		p.startEngines(ctx, "e3")
		Eventually(func() int {
			return len(slices.DeleteFunc(p.owners(ctx), func(o string) bool { return o != "e3" }))
		}).Should(BeNumerically(">=", 3), "a new engine must get its share")
		Eventually(func() []string { return p.events(ctx) }).Should(
			ContainElements("EngineLeaving", "Rebalancing", "ShardsAssigned", "MovesDone"))
		var list eventsv1.EventList
		Expect(k8s.List(ctx, &list, client.InNamespace(p.namespace))).To(Succeed())
		Expect(list.Items).To(ContainElement(And(HaveField("Reason", "MovesDone"), HaveField("Note", MatchRegexp("^[1-9] shards moved in [0-9]+s$")))))
		Eventually(func() outcome.MovesProgress { return p.outcomes.Get(key(p.namespace, "main")).Moves }).Should(BeZero())
	})

	It("replaces a dead engine", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		p.startEngines(ctx, "e1", "e2")
		p.archiver(ctx)
		p.group(ctx, "g", "A:", 100, nil)
		Eventually(func() []string { return p.owners(ctx) }).Should(And(HaveLen(8), ContainElement("e1")))
		p.silence("e1")
		Eventually(func(g Gomega) {
			for _, s := range p.shards(ctx) {
				g.Expect(s.Spec.Engines[0]).To(Equal(v1alpha1.ShardEngine{Name: "e2", Order: v1alpha1.OrderCapture}))
			}
		}, 40*time.Second).Should(Succeed())
		Expect(slices.ContainsFunc(p.shards(ctx), func(s v1alpha1.ArchiveShard) bool {
			return slices.Contains(s.Spec.Engines, v1alpha1.ShardEngine{Name: "e1", Order: v1alpha1.OrderDrain})
		})).To(BeTrue(), "the dead engine must have the order to drain in case it comes back")
		p.removePod(ctx, "e1")
		Eventually(func() []string { return p.owners(ctx) }).Should(And(HaveLen(8), HaveEach("e2")))
		Eventually(func() []string { return p.events(ctx) }).Should(ContainElement("EngineDead"))
	})

	Describe("deletionPolicy Delete", func() {
		deletes := func(spec *v1alpha1.ArchiveGroupSpec) { spec.DeletionPolicy = v1alpha1.DeleteData }
		guarded := func(ctx SpecContext, g *v1alpha1.ArchiveGroup) func() bool {
			return func() bool {
				Expect(k8s.Get(ctx, client.ObjectKeyFromObject(g), g)).To(Succeed())
				return controllerutil.ContainsFinalizer(g, v1alpha1.DataFinalizer)
			}
		}
		gone := func(ctx SpecContext, g *v1alpha1.ArchiveGroup) func() bool {
			return func() bool { return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(g), g)) }
		}

		It("keeps a group until its data is deleted", func(ctx SpecContext) {
			p := newShardsFixture(ctx)
			p.archiver(ctx)
			p.group(ctx, "stays", "A:", 5, nil)
			g := p.group(ctx, "goes", "A:", 20, deletes)
			Eventually(guarded(ctx, g)).Should(BeTrue())
			Eventually(func() []string { return p.captured(ctx) }).Should(HaveLen(20))
			Expect(k8s.Delete(ctx, g)).To(Succeed())
			Eventually(func() []string { return p.captured(ctx) }).Should(HaveLen(5))
			Consistently(gone(ctx, g), time.Second).Should(BeFalse(), "the group must stay, because no engine has deleted its data")
			p.startEngines(ctx, "e1")
			Eventually(gone(ctx, g)).Should(BeTrue())
			Eventually(func(gm Gomega) {
				for _, s := range p.shards(ctx) {
					gm.Expect(s.Spec.Deletions).To(BeEmpty())
				}
			}).Should(Succeed())
			Eventually(func() []string { return p.events(ctx) }).Should(ContainElement("DataDeleted"))
		})

		It("removes the finalizer after a change of the policy to Retain", func(ctx SpecContext) {
			p := newShardsFixture(ctx)
			p.archiver(ctx)
			g := p.group(ctx, "g", "A:", 5, deletes)
			Eventually(guarded(ctx, g)).Should(BeTrue())
			g.Spec.DeletionPolicy = v1alpha1.RetainData
			Expect(k8s.Update(ctx, g)).To(Succeed())
			Eventually(guarded(ctx, g)).Should(BeFalse())
		})

		It("releases groups when their Archiver is gone", func(ctx SpecContext) {
			p := newShardsFixture(ctx)
			a := p.archiver(ctx)
			first := p.group(ctx, "first", "A:", 5, deletes)
			last := p.group(ctx, "last", "B:", 5, deletes)
			Eventually(guarded(ctx, first)).Should(BeTrue())
			Eventually(guarded(ctx, last)).Should(BeTrue())
			Expect(k8s.Delete(ctx, first)).To(Succeed())
			Expect(k8s.Delete(ctx, a)).To(Succeed())
			Eventually(gone(ctx, first)).Should(BeTrue())
			Eventually(guarded(ctx, last)).Should(BeFalse(), "the remaining group must lose its finalizer, because the operator may be gone when the group is deleted")
			Eventually(func() []string { return p.events(ctx) }).Should(ContainElement("DataNotDeleted"))
		})
	})
})

// reported returns the number of shards that engines hold according to the latest reports
// that the operator has.
func (p *shardsFixture) reported(ctx SpecContext) (shards int) {
	engines, err := p.fleet.Engines(ctx, types.NamespacedName{Namespace: p.namespace, Name: "main"})
	Expect(err).NotTo(HaveOccurred())
	for _, e := range engines {
		if e.Report != nil {
			shards += len(e.Report.Shards)
		}
	}
	return shards
}

// events returns the reasons of events.
func (p *shardsFixture) events(ctx SpecContext) (reasons []string) {
	var list eventsv1.EventList
	Expect(k8s.List(ctx, &list, client.InNamespace(p.namespace))).To(Succeed())
	for _, e := range list.Items {
		if !strings.HasPrefix(e.Regarding.Kind, "Archive") {
			continue
		}
		reasons = append(reasons, e.Reason)
	}
	return reasons
}
