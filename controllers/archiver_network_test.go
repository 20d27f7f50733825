package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	netv1 "k8s.io/api/networking/v1"

	"varve.dev/varve/api/v1alpha1"
)

var _ = Describe("NetworkPolicies", func() {
	It("follow spec.networkPolicy, and open again without it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		startArchivers(namespace)
		a := newArchiver(namespace, "main")
		a.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{
			Readers: &v1alpha1.NetworkPeers{Namespaces: []string{"ingress"}, CIDRs: []v1alpha1.CIDR{"10.1.0.0/16", "fd00::/8"}},
			Metrics: &v1alpha1.NetworkPeers{Namespaces: []string{"monitoring"}},
		}
		create(ctx, a)
		rules := func(name string) []netv1.NetworkPolicyIngressRule {
			p := &netv1.NetworkPolicy{}
			if k8s.Get(ctx, key(namespace, name), p) != nil {
				return nil
			}
			return p.Spec.Ingress
		}
		peers := func(n int) any { return HaveField("From", HaveLen(n)) }
		Eventually(rules).WithArguments("main-retrieval").Should(HaveExactElements(peers(3), peers(1)))
		Eventually(rules).WithArguments("main-engine").Should(HaveExactElements(peers(2), peers(1)), "the operator and retrieval pods; metrics")

		edit(ctx, a, func() { a.Spec.NetworkPolicy = nil })
		Eventually(rules).WithArguments("main-retrieval").Should(HaveExactElements(peers(0), peers(0)))
		Eventually(rules).WithArguments("main-engine").Should(HaveExactElements(peers(2), peers(0)))
	})
})
