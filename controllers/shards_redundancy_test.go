package controllers_test

import (
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/controllers/placement"
	"varve.dev/varve/controllers/shards"
)

// withTwoEngines makes a group request two engines.
func withTwoEngines(spec *v1alpha1.ArchiveGroupSpec) { spec.Redundancy = 2 }

// captures reports whether an engine has the order to capture a shard and captures it.
func captures(s *v1alpha1.ArchiveShard, engine string) bool {
	return slices.Contains(s.Spec.Engines, v1alpha1.ShardEngine{Name: engine, Order: v1alpha1.OrderCapture}) &&
		slices.ContainsFunc(s.Status.Engines, func(e v1alpha1.ShardEngineStatus) bool {
			return e.Name == engine && e.Phase == v1alpha1.Capturing
		})
}

// pairs returns the engines of each shard with channels, by index. It returns nil unless all
// engines of these shards capture and no engine has the order to drain.
func (p *shardsFixture) pairs(ctx SpecContext) map[int32][]string {
	GinkgoHelper()
	out := map[int32][]string{}
	for _, s := range p.shards(ctx) {
		if len(s.Spec.Lists) == 0 {
			continue
		}
		for _, e := range s.Spec.Engines {
			if s.Status == nil || len(s.Status.Engines) != len(s.Spec.Engines) || !captures(&s, e.Name) {
				return nil
			}
			out[*s.Spec.Index] = append(out[*s.Spec.Index], e.Name)
		}
	}
	return out
}

// onTwoNodes returns a function that reports whether a shard has two engines on different nodes.
// nodes maps each engine to its node.
func onTwoNodes(nodes map[string]string) func([]string) bool {
	return func(engines []string) bool { return len(engines) == 2 && nodes[engines[0]] != nodes[engines[1]] }
}

var _ = Describe("Redundancy", func() {
	nodes := map[string]string{"a1": "a", "b1": "b", "c1": "c"}
	start := func(ctx SpecContext, p *shardsFixture, names ...string) {
		for _, name := range names {
			p.startEnginesOn(ctx, nodes[name], name)
		}
	}
	awaitPairs := func(ctx SpecContext, p *shardsFixture) {
		GinkgoHelper()
		Eventually(func() map[int32][]string { return p.pairs(ctx) }, 30*time.Second).
			Should(And(Not(BeEmpty()), HaveEach(Satisfy(onTwoNodes(nodes)))))
	}

	It("captures PVs of redundancy 2 on two nodes, in separate shards", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		start(ctx, p, "a1", "b1", "c1")
		p.archiver(ctx)
		p.group(ctx, "once", "A:", 40, nil)
		Eventually(func() []string { return p.owners(ctx) }).Should(HaveLen(8))
		Expect(p.shards(ctx)).To(HaveLen(8), "there must be no shards for redundant PVs before a group requests redundancy")
		p.group(ctx, "twice", "B:", 40, withTwoEngines)
		Eventually(func() []string { return p.captured(ctx) }).Should(HaveLen(80))
		Eventually(func(g Gomega) {
			pairs := p.pairs(ctx)
			g.Expect(len(pairs)).To(BeNumerically(">", 8))
			for index, engines := range pairs {
				if index < 8 {
					g.Expect(engines).To(HaveLen(1))
				} else {
					g.Expect(engines).To(Satisfy(onTwoNodes(nodes)))
				}
			}
		}, 30*time.Second).Should(Succeed())
		p.writes.quiet()
		p.writes.reset()
		Consistently(func() int { counts, _ := p.writes.reset(); return len(counts) }, 3*time.Second).Should(BeZero())
	})

	It("replaces a dead engine while the other one continues to capture and seals", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		start(ctx, p, "a1", "b1", "c1")
		p.archiver(ctx)
		p.group(ctx, "g", "A:", 40, withTwoEngines)
		awaitPairs(ctx, p)
		before := p.pairs(ctx)
		p.silence("a1")
		Eventually(func(g Gomega) {
			for _, s := range p.shards(ctx) {
				if len(s.Spec.Lists) == 0 {
					continue
				}
				stays := slices.DeleteFunc(slices.Clone(before[*s.Spec.Index]), func(e string) bool { return e == "a1" })
				Expect(captures(&s, stays[0])).To(BeTrue(), "%s must continue to capture shard %s", stays[0], s.Name)
				g.Expect(stays).To(ContainElement(s.Spec.Engines[0].Name), "the sealer must be an engine that has captured without interruption")
				g.Expect(captures(&s, "b1") && captures(&s, "c1")).To(BeTrue())
			}
		}, 40*time.Second).Should(Succeed())
		Eventually(func() []string { return p.events(ctx) }).Should(ContainElements("EngineDead", "SecondEngines"))
		p.removePod(ctx, "a1")
		awaitPairs(ctx, p)
	})

	It("replaces a leaving engine while two engines always capture", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		start(ctx, p, "a1", "b1", "c1")
		p.archiver(ctx)
		p.group(ctx, "g", "A:", 40, withTwoEngines)
		awaitPairs(ctx, p)
		pod := &corev1.Pod{}
		Expect(k8s.Get(ctx, key(p.namespace, "a1"), pod)).To(Succeed())
		Expect(k8s.Delete(ctx, pod)).To(Succeed())
		Eventually(func() map[int32][]string {
			for _, s := range p.shards(ctx) {
				n := 0
				for _, e := range []string{"a1", "b1", "c1"} {
					if s.Status != nil && slices.ContainsFunc(s.Status.Engines, func(a v1alpha1.ShardEngineStatus) bool {
						return a.Name == e && a.Phase == v1alpha1.Capturing
					}) {
						n++
					}
				}
				if len(s.Spec.Lists) > 0 {
					Expect(n).To(BeNumerically(">=", 2), "shard %s: %+v, %+v", s.Name, s.Spec.Engines, s.Status.Engines)
				}
			}
			return p.pairs(ctx)
		}, 30*time.Second).Should(And(Not(BeEmpty()), HaveEach(Not(ContainElement("a1")))))
		awaitPairs(ctx, p)
	})

	It("works with one engine until there is another", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		start(ctx, p, "a1")
		a := p.archiver(ctx)
		p.group(ctx, "g", "A:", 40, withTwoEngines)
		Eventually(func() map[int32][]string { return p.pairs(ctx) }).Should(And(Not(BeEmpty()), HaveEach(Equal([]string{"a1"}))))
		Expect(p.outcomes.Get(client.ObjectKeyFromObject(a)).Groups[p.namespace+"/g"].Redundant).To(Equal(40))
		start(ctx, p, "b1")
		awaitPairs(ctx, p)
		for _, e := range p.pairs(ctx) {
			Expect(e).To(HaveExactElements("a1", "b1"), "the first engine must remain the sealer")
		}

		By("scaling to one engine")
		seen := p.watch(ctx)
		pod := &corev1.Pod{}
		Expect(k8s.Get(ctx, key(p.namespace, "a1"), pod)).To(Succeed())
		Expect(k8s.Delete(ctx, pod)).To(Succeed())
		Eventually(func() map[int32][]string { return p.pairs(ctx) }, 30*time.Second).
			Should(And(Not(BeEmpty()), HaveEach(Equal([]string{"b1"}))))
		Expect(seen.stop()).To(BeEmpty(), "some PVs were not captured for a moment")
	})

	It("captures every PV without interruption while redundancy is switched on and off", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		start(ctx, p, "a1", "b1", "c1")
		p.archiver(ctx)
		g := p.group(ctx, "g", "A:", 40, nil)
		p.group(ctx, "other", "B:", 5, nil)
		Eventually(func() []string { return p.owners(ctx) }).Should(HaveLen(8))
		Eventually(func() []string { return p.captured(ctx) }).Should(HaveLen(45))
		seen := p.watch(ctx)
		set := func(n int32) {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(g), g)).To(Succeed())
			g.Spec.Redundancy = n
			Expect(k8s.Update(ctx, g)).To(Succeed())
		}
		twofold := func() (n int) { // number of shards with channels and two requested engines
			for _, s := range p.shards(ctx) {
				if *s.Spec.Index >= 8 && s.Spec.Channels > 0 {
					n++
				}
			}
			return n
		}
		noneLeaving := func() bool {
			return !slices.ContainsFunc(p.shards(ctx), func(s v1alpha1.ArchiveShard) bool {
				return slices.ContainsFunc(s.Spec.Lists, func(l v1alpha1.ChannelListReference) bool { return l.Leaving })
			})
		}
		By("switching redundancy on")
		set(2)
		Eventually(twofold).Should(BeNumerically(">", 3))
		Eventually(noneLeaving, time.Minute).Should(BeTrue())
		former := 0
		for _, s := range p.shards(ctx) {
			for _, f := range s.Spec.Former {
				var list corev1.ConfigMap
				Expect(k8s.Get(ctx, key(p.namespace, f.Name), &list)).To(Succeed(), "a former list of shard %s", s.Name)
				former++
			}
		}
		Expect(former).To(BeNumerically(">", 3), "the former shards must name the PVs that left them")
		Eventually(func() []string { return p.captured(ctx) }).Should(HaveLen(45))
		pairs := p.pairs(ctx)
		for index, engines := range pairs {
			Expect(len(engines)).To(Equal(1 + int(index)/8))
		}
		By("switching redundancy off")
		set(1)
		Eventually(twofold).Should(BeZero())
		Eventually(noneLeaving, time.Minute).Should(BeTrue())
		Eventually(func() int { return len(p.pairs(ctx)) }).Should(BeNumerically(">", 0))
		for index := range p.pairs(ctx) {
			Expect(index).To(BeNumerically("<", 8))
		}
		Eventually(func(g Gomega) { // the previous sealer seals the remaining samples
			for _, s := range p.shards(ctx) {
				g.Expect(s.Spec.Engines).To(HaveLen(1), s.Name)
			}
		}, 30*time.Second).Should(Succeed())
		p.writes.quiet()
		p.writes.reset()
		Consistently(func() int { counts, _ := p.writes.reset(); return len(counts) }, 3*time.Second).Should(BeZero())
		Expect(seen.stop()).To(BeEmpty(), "some PVs were not captured for a moment")
		Expect(seen.events).To(BeNumerically(">", 50))
	})

	It("undoes a move to an engine that does not capture in time", func(ctx SpecContext) {
		p := newShardsFixture(ctx, func(r *shards.Reconciler) {
			r.Limits = placement.Limits{AtOnce: 2, PerMinute: 2, Join: 2 * time.Second, Avoid: time.Hour}
		})
		start(ctx, p, "a1")
		p.archiver(ctx)
		p.group(ctx, "g", "A:", 40, nil)
		Eventually(func() []string { return p.owners(ctx) }).Should(And(HaveLen(8), HaveEach("a1")))
		seen := p.watch(ctx)
		p.startEngine(ctx, "b", "b1", func(e *simulatedEngine) { e.stuck = true })
		Eventually(func() []string { return p.events(ctx) }, time.Minute).Should(ContainElements("Rebalancing", "MoveUndone"))
		Eventually(func() []string { return p.owners(ctx) }, time.Minute).Should(And(HaveLen(8), HaveEach("a1")))
		Consistently(func() []string { return p.owners(ctx) }, 3*time.Second).Should(HaveEach("a1"))
		Expect(seen.stop()).To(BeEmpty())
		for _, s := range p.shards(ctx) {
			Expect(captures(&s, "a1")).To(BeTrue())
		}
	})
})
