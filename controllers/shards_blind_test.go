package controllers_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/report"
	"varve.dev/varve/controllers/archiverstatus"
	"varve.dev/varve/controllers/placement"
	"varve.dev/varve/controllers/shards"
)

// openEyes makes a blind engine reach all IOCs.
func (p *shardsFixture) openEyes(name string) {
	p.mu.Lock()
	p.engines[name].blind = false
	p.mu.Unlock()
	p.wake()
}

// reportShard returns what an engine reports of a shard. Each channel of a shard is on the shard's
// own IOC.
func (e *simulatedEngine) reportShard(index int, phase v1alpha1.ShardPhase) report.Shard {
	r := report.Shard{Index: index, Phase: string(phase), Orphaned: !e.named[index], Lists: e.lists[index], Channels: int(e.channels[index])}
	if e.blind {
		r.Unreachable = r.Channels
		return r
	}
	r.Connected, r.SteadilyConnected = r.Channels, r.Channels
	r.Hosts = []report.Host{{Host: fmt.Sprintf("ioc%d:5064", index), Channels: r.Channels}}
	return r
}

var _ = Describe("An engine that reaches no IOC", func() {
	It("gets no shard, and the Archiver names it and its hosts", func(ctx SpecContext) {
		p := newShardsFixture(ctx, func(r *shards.Reconciler) {
			r.Limits = placement.Limits{AtOnce: 2, Join: 8 * time.Second, Avoid: 12 * time.Second, Blind: time.Second}
		})
		p.startEnginesOn(ctx, "a", "a1")
		a := p.archiver(ctx)
		p.group(ctx, "g", "A:", 40, nil)
		Eventually(func() []string { return p.owners(ctx) }).Should(And(HaveLen(8), HaveEach("a1")))
		p.writes.quiet() // so that a1 has reported what it sees
		seen := p.watch(ctx)
		p.startEngine(ctx, "b", "b1", func(e *simulatedEngine) { e.blind = true })

		By("undoing the moves")
		Eventually(func() []string { return p.events(ctx) }, patience).Should(ContainElements("Rebalancing", "MoveUndone"))
		blind := func() []placement.BlindEngine { return p.outcomes.Get(client.ObjectKeyFromObject(a)).Blind }
		Eventually(blind, patience).Should(HaveLen(1))
		Expect(blind()[0].Engine).To(Equal("b1"))
		Expect(blind()[0].Hosts).To(HaveEach(MatchRegexp(`^ioc\d:5064$`)))
		Consistently(func(g Gomega) {
			for _, s := range p.shards(ctx) {
				g.Expect(captures(&s, "a1")).To(BeTrue(), "shard %s has left the engine that sees it: %+v, %+v", s.Name, s.Spec.Engines, s.Status.Engines)
			}
		}, 5*time.Second).Should(Succeed())
		status := archiverstatus.Compute(archiverstatus.Input{Archiver: a, Blind: blind(), Synced: true, Now: time.Now()})
		Expect(status.Conditions).To(ContainElement(And(
			HaveField("Type", v1alpha1.ConditionDegraded), HaveField("Message", ContainSubstring("engine b1 does not reach IOCs ioc")),
		)))

		By("moving shards once the engine sees")
		p.openEyes("b1")
		Eventually(func() int {
			return len(slices.DeleteFunc(p.owners(ctx), func(e string) bool { return !strings.HasPrefix(e, "b") }))
		}, patience).Should(BeNumerically(">=", 3))
		Eventually(blind, patience).Should(BeEmpty())
		Expect(seen.stop()).To(BeEmpty(), "some PVs were not captured for a moment")
	})
})
