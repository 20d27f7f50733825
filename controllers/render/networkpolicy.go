package render

import (
	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	meta "k8s.io/client-go/applyconfigurations/meta/v1"
	net "k8s.io/client-go/applyconfigurations/networking/v1"

	"varve.dev/varve/api/v1alpha1"
)

// These types have long names in Kubernetes.
type (
	netPeer = *net.NetworkPolicyPeerApplyConfiguration
	netPort = *net.NetworkPolicyPortApplyConfiguration
	netRule = *net.NetworkPolicyIngressRuleApplyConfiguration
)

// engineNetworkPolicy returns the policy of engine pods:
//
//	retrieval pods, operator ─▶ internal
//	spec.networkPolicy.readers ─▶ http, if the archive is embedded
//	spec.networkPolicy.metrics ─▶ metrics
//	IOCs ─▶ all UDP ports, if the engines search by UDP
//
// It allows EPICS traffic, even in a namespace that denies traffic by default. IOCs can have any
// address, and answer searches from any port to any port. An engine that only searches on name
// servers, by TCP, gets no datagrams.
func engineNetworkPolicy(in Input) *net.NetworkPolicyApplyConfiguration {
	a := in.Archiver
	rules := []netRule{allow(internalPeers(in), tcpPort(InternalPort(a)))}
	if Embedded(a) {
		rules = append(rules, allow(peers(networkPolicySpec(a).Readers), tcpPort(Port)))
	}
	rules = append(rules, allow(peers(networkPolicySpec(a).Metrics), tcpPort(MetricsPort)))
	if searchesByUDP(a) {
		rules = append(rules, allow(nil, net.NetworkPolicyPort().WithProtocol(corev1.ProtocolUDP)))
	}
	return podNetworkPolicy(a, v1alpha1.ComponentEngine, rules...)
}

// retrievalNetworkPolicy returns the policy of retrieval pods. Outgoing traffic is open, because
// Cassandra can have any address.
func retrievalNetworkPolicy(a *v1alpha1.Archiver) *net.NetworkPolicyApplyConfiguration {
	spec := networkPolicySpec(a)
	return podNetworkPolicy(a, v1alpha1.ComponentRetrieval,
		allow(peers(spec.Readers), tcpPort(Port)), allow(peers(spec.Metrics), tcpPort(MetricsPort)))
}

// internalPeers returns who may connect to the internal port of engines. Everybody may if the
// operator runs outside of the cluster, because its address is unknown then.
func internalPeers(in Input) []netPeer {
	if in.OperatorNamespace == "" {
		return nil
	}
	// Whoever can create pods in the namespace of the operator can also use its ServiceAccount. So
	// labels of the operator's pods would protect nothing.
	out := []netPeer{namespacesPeer(in.OperatorNamespace)}
	if !Embedded(in.Archiver) {
		out = append(out, podsPeer(matching(in.Archiver.Name, v1alpha1.ComponentRetrieval)))
	}
	return out
}

func networkPolicySpec(a *v1alpha1.Archiver) v1alpha1.NetworkPolicySpec {
	if a.Spec.NetworkPolicy == nil {
		return v1alpha1.NetworkPolicySpec{}
	}
	return *a.Spec.NetworkPolicy
}

// allow returns a rule for incoming traffic. Without peers, it allows traffic from everybody;
// without ports, to all ports.
func allow(from []netPeer, ports ...netPort) netRule {
	return net.NetworkPolicyIngressRule().WithFrom(from...).WithPorts(ports...)
}

// peers returns the peers of a policy: nil, which means everybody, for nil.
func peers(p *v1alpha1.NetworkPeers) []netPeer {
	if p == nil {
		return nil
	}
	var out []netPeer
	if len(p.Namespaces) > 0 {
		out = append(out, namespacesPeer(p.Namespaces...))
	}
	for _, cidr := range p.CIDRs {
		out = append(out, net.NetworkPolicyPeer().WithIPBlock(net.IPBlock().WithCIDR(string(cidr))))
	}
	if len(out) == 0 {
		panic("BUG: the API server accepted peers without namespaces and cidrs")
	}
	return out
}

// namespacesPeer returns all pods of namespaces. Kubernetes sets the label itself.
func namespacesPeer(names ...string) netPeer {
	in := meta.LabelSelectorRequirement().WithKey(corev1.LabelMetadataName).WithOperator(metav1.LabelSelectorOpIn).WithValues(names...)
	return net.NetworkPolicyPeer().WithNamespaceSelector(meta.LabelSelector().WithMatchExpressions(in))
}

// podsPeer returns pods in the namespace of the policy.
func podsPeer(pods *meta.LabelSelectorApplyConfiguration) netPeer {
	return net.NetworkPolicyPeer().WithPodSelector(pods)
}

// tcpPort returns a port by its number, because the names of ports differ between versions of the pods.
func tcpPort(port int32) netPort {
	return net.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(port))
}

// podNetworkPolicy returns the policy of a component's pods. Outgoing traffic is open.
func podNetworkPolicy(a *v1alpha1.Archiver, component string, rules ...netRule) *net.NetworkPolicyApplyConfiguration {
	p := networkPolicy(a, component, matching(a.Name, component), rules...)
	p.Spec.WithPolicyTypes(netv1.PolicyTypeEgress).WithEgress(net.NetworkPolicyEgressRule())
	return p
}

// networkPolicy returns a policy for the incoming traffic of some pods.
func networkPolicy(
	a *v1alpha1.Archiver, component string, pods *meta.LabelSelectorApplyConfiguration, rules ...netRule,
) *net.NetworkPolicyApplyConfiguration {
	return net.NetworkPolicy(componentName(a.Name, component), a.Namespace).
		WithLabels(Labels(a.Name, component)).
		WithOwnerReferences(owner(a)).
		WithSpec(net.NetworkPolicySpec().
			WithPodSelector(pods).
			WithPolicyTypes(netv1.PolicyTypeIngress).
			WithIngress(rules...))
}
