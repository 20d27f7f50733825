package elasticity

import (
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"varve.dev/varve/test/cassandra"
	"varve.dev/varve/test/e2e/lab"
)

var _ = describe(1)
var _ = describe(2)

// describe defines the specs of an archive with a given redundancy, one spec per fault. Each
// spec checks first that the previous one left the archive healthy. The loss of a Cassandra node
// is tested on a separate archive, because it needs three Cassandra nodes.
func describe(redundancy int) bool {
	Describe(fmt.Sprintf("An archive with redundancy %d", redundancy), Label(fmt.Sprintf("redundancy-%d", redundancy)),
		Ordered, ContinueOnFailure, func() {
			var s *site

			BeforeAll(func(ctx SpecContext) {
				s = newSite(ctx, fmt.Sprintf("redundancy-%d", redundancy), redundancy, hot, nil)
			}, NodeTimeout(2*lab.Patience))

			for _, f := range faults {
				It("endures "+f.name, Label(f.name), func(ctx SpecContext) { s.endures(ctx, f) }, SpecTimeout(4*lab.Patience+2*f.atMost))
			}
		})
	return Describe(fmt.Sprintf("An archive in three Cassandra nodes, with redundancy %d", redundancy),
		Label(fmt.Sprintf("redundancy-%d", redundancy), "cassandra-node"), func() {
			It("endures cassandra-node", func(ctx SpecContext) {
				addresses := strings.Fields(os.Getenv("VARVE_HOST_IPS"))
				ring := cassandra.StartRingOn(GinkgoTB(), addresses, 3)
				ring.Nodes[0].AwaitUp(GinkgoTB(), 3)
				s := newSite(ctx, fmt.Sprintf("three-nodes-%d", redundancy), redundancy, hot,
					lab.Spec{"storage": lab.Spec{"cassandra": lab.Spec{"external": lab.Spec{"contactPoints": ring.Addrs()}}}})
				s.endures(ctx, fault{name: "cassandra-node", planned: true, inject: func(ctx SpecContext, s *site, _ *occurrence) {
					s.move(ctx)
					ring.Nodes[2].Kill()
					s.awaitHealthy(ctx, engines+1)
					ring.Nodes[2].Start(GinkgoTB())
					ring.Nodes[0].AwaitUp(GinkgoTB(), 3)
					s.scale(ctx, engines)
				}})
			}, SpecTimeout(6*lab.Patience))
		})
}
