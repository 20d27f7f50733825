package render

import (
	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	net "k8s.io/client-go/applyconfigurations/networking/v1"

	"varve.dev/varve/api/v1alpha1"
)

// engineNetworkPolicy allows EPICS traffic, even in a namespace that denies traffic by
// default. IOCs can have any address, and answer searches from any port to any port. An engine
// that only searches on name servers, by TCP, gets no datagrams. Incoming TCP connections are
// allowed only to the ports of the pods.
func engineNetworkPolicy(a *v1alpha1.Archiver) *net.NetworkPolicyApplyConfiguration {
	ingress := []*net.NetworkPolicyPortApplyConfiguration{tcpPort(InternalPort(a)), tcpPort(MetricsPort)}
	if Embedded(a) {
		ingress = append(ingress, tcpPort(Port))
	}
	if searchesByUDP(a) {
		ingress = append(ingress, net.NetworkPolicyPort().WithProtocol(corev1.ProtocolUDP))
	}
	return networkPolicy(a, v1alpha1.ComponentEngine, ingress...)
}

// retrievalNetworkPolicy allows all clients to read. Egress is open, because Cassandra can
// have any address.
func retrievalNetworkPolicy(a *v1alpha1.Archiver) *net.NetworkPolicyApplyConfiguration {
	return networkPolicy(a, v1alpha1.ComponentRetrieval, tcpPort(Port), tcpPort(MetricsPort))
}

// tcpPort returns a port by its number, because the names of ports differ between versions of the pods.
func tcpPort(port int32) *net.NetworkPolicyPortApplyConfiguration {
	return net.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(port))
}

func networkPolicy(
	a *v1alpha1.Archiver, component string, ingress ...*net.NetworkPolicyPortApplyConfiguration,
) *net.NetworkPolicyApplyConfiguration {
	return net.NetworkPolicy(componentName(a.Name, component), a.Namespace).
		WithLabels(Labels(a.Name, component)).
		WithOwnerReferences(owner(a)).
		WithSpec(net.NetworkPolicySpec().
			WithPodSelector(matching(a.Name, component)).
			WithPolicyTypes(netv1.PolicyTypeIngress, netv1.PolicyTypeEgress).
			WithIngress(net.NetworkPolicyIngressRule().WithPorts(ingress...)).
			WithEgress(net.NetworkPolicyEgressRule()))
}
