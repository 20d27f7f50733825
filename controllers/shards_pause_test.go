package controllers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/groups/channellist"
)

// pauses returns why PVs are paused, by the lists in the specs of the shards. It lacks the PVs that are not paused,
// and is nil while a list is missing.
func (p *shardsFixture) pauses(ctx context.Context) map[string]string {
	GinkgoHelper()
	out := map[string]string{}
	for _, s := range p.shards(ctx) {
		for _, l := range s.Spec.Lists {
			cm := &corev1.ConfigMap{}
			if k8s.Get(ctx, key(p.namespace, l.Name), cm) != nil {
				return nil
			}
			channels, err := channellist.Decode(cm.BinaryData[v1alpha1.ChannelListKey])
			Expect(err).NotTo(HaveOccurred())
			for _, ch := range channels {
				if ch.Settings.Paused {
					out[ch.PV] = ch.Settings.PauseReason
				}
			}
		}
	}
	return out
}

var _ = Describe("Planned pauses and expiry", func() {
	It("begin and end without an edit", func(ctx SpecContext) {
		p := newShardsFixture(ctx)
		p.startEngines(ctx, "e1")
		p.archiver(ctx)
		from := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
		g := p.group(ctx, "pausing", "P:", 3, func(spec *v1alpha1.ArchiveGroupSpec) {
			spec.Pauses = []v1alpha1.PlannedPause{{From: &from, To: new(metav1.NewTime(from.Add(100 * time.Hour))), Reason: "shutdown", Match: "[01]$"}}
		})
		paused := func() map[string]string { return p.pauses(ctx) }
		Eventually(paused).Should(And(HaveLen(2), HaveKeyWithValue("P:0000", HavePrefix("shutdown (planned from ")), HaveKey("P:0001")))

		By("a time that comes")
		soon := metav1.NewTime(time.Now().Add(3 * time.Second).Truncate(time.Second))
		g.Spec.Pauses[0].To, g.Spec.Channels[2].ExpiresAt = &soon, &soon
		Expect(k8s.Update(ctx, g)).To(Succeed())
		Eventually(paused).Should(And(HaveLen(1), HaveKeyWithValue("P:0002", HavePrefix("its capture ended at "))))
		Eventually(func() int { return p.outcomes.Get(key(p.namespace, "main")).Groups[p.namespace+"/pausing"].Ended }).Should(Equal(1))
	})
})
