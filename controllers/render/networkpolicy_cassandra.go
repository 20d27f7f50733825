package render

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	meta "k8s.io/client-go/applyconfigurations/meta/v1"
	net "k8s.io/client-go/applyconfigurations/networking/v1"

	"varve.dev/varve/api/v1alpha1"
)

// Ports of Cassandra's pods.
const (
	cqlPort           = 9042
	jmxPort           = 7199
	managementPort    = 8080  // the management API of cass-operator, which asks for no password
	backupPort        = 50051 // Medusa
	metricsPort       = 9000
	legacyMetricsPort = 9103
)

// Labels of other projects.
const (
	cassandraCluster = "cassandra.datastax.com/cluster" // cass-operator sets it on the pods of nodes
	reaperPod        = "k8ssandra.io/reaper"            // k8ssandra-operator sets it on the pods of Reaper
)

// cassandraNetworkPolicy returns the policy of the nodes of a managed datacenter:
//
//	nodes ─▶ all ports
//	pods of the archive, spec.networkPolicy.cassandra ─▶ CQL; see cassandraClients
//	operators of Cassandra ─▶ all ports; if their namespaces are unknown, everybody ─▶ management API
//	Reaper ─▶ management API, JMX, CQL
//	spec.networkPolicy.metrics ─▶ metrics
//
// It does not restrict outgoing traffic.
func cassandraNetworkPolicy(in Input) *net.NetworkPolicyApplyConfiguration {
	a := in.Archiver
	spec := networkPolicySpec(a)
	nodes := meta.LabelSelector().WithMatchLabels(map[string]string{cassandraCluster: ClusterName(a.Name)})
	rules := []netRule{
		allow([]netPeer{podsPeer(nodes)}),
		allow(cassandraClients(a), tcpPort(cqlPort)),
		administrators(in),
	}
	if in.Datacenter.Kind == KindK8ssandraCluster && Managed(a).Reaper != nil {
		reaper := meta.LabelSelector().WithMatchExpressions(meta.LabelSelectorRequirement().WithKey(reaperPod).WithOperator(metav1.LabelSelectorOpExists))
		rules = append(rules, allow([]netPeer{podsPeer(reaper)}, tcpPort(managementPort), tcpPort(jmxPort), tcpPort(cqlPort)))
	}
	rules = append(rules, allow(peers(spec.Metrics), tcpPort(metricsPort), tcpPort(legacyMetricsPort)))
	return networkPolicy(a, "cassandra", nodes, rules...)
}

// cassandraClients returns who may use CQL. The operator does not know the addresses of engines with
// hostNetwork. So everybody may use CQL then, unless spec.networkPolicy.cassandra says who may.
func cassandraClients(a *v1alpha1.Archiver) []netPeer {
	others := networkPolicySpec(a).Cassandra
	if others == nil && a.Spec.Engines.HostNetwork {
		return nil
	}
	pods := podsPeer(meta.LabelSelector().WithMatchLabels(map[string]string{v1alpha1.LabelName: "varve", v1alpha1.LabelInstance: a.Name}))
	return append([]netPeer{pods}, peers(others)...)
}

// administrators returns the rule for the operators that run the nodes. k8ssandra-operator calls the management API
// too, for the replicas of Cassandra's own keyspaces.
func administrators(in Input) netRule {
	if len(in.CassandraOperatorNamespaces) > 0 {
		return allow([]netPeer{namespacesPeer(in.CassandraOperatorNamespaces...)})
	}
	ports := []netPort{tcpPort(managementPort)}
	if in.Datacenter.Kind == KindK8ssandraCluster && Managed(in.Archiver).Medusa != nil {
		ports = append(ports, tcpPort(backupPort))
	}
	return allow(nil, ports...)
}
