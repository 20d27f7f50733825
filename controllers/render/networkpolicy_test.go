package render

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"varve.dev/varve/api/v1alpha1"
)

// origin is who connects to a pod, as a network plugin sees it: a pod, or an address outside of the
// cluster.
type origin struct {
	namespace string
	labels    map[string]string
	address   string
}

// archivePod returns a pod of the archive main.
func archivePod(component string) origin {
	return origin{namespace: "lab", labels: Labels("main", component)}
}

var (
	operatorPod   = origin{namespace: "varve-system", labels: map[string]string{v1alpha1.LabelName: "varve-operator"}}
	falseOperator = origin{namespace: "tenant", labels: map[string]string{v1alpha1.LabelName: "varve-operator"}}
	otherPod      = origin{namespace: "lab", labels: map[string]string{"app": "web"}}
	foreignPod    = origin{namespace: "tenant", labels: Labels("main", v1alpha1.ComponentRetrieval)}
	otherArchive  = origin{namespace: "lab", labels: Labels("other", v1alpha1.ComponentRetrieval)}
	office        = origin{address: "192.168.7.7"}
	controlRoom   = origin{address: "10.1.2.3"}
	prometheus    = origin{namespace: "monitoring", labels: map[string]string{"app": "prometheus"}}
	cassOperator  = origin{namespace: "cass-system", labels: map[string]string{"app": "cass-operator"}}
	cassandraNode = origin{namespace: "lab", labels: map[string]string{cassandraCluster: "main-db"}}
	reaper        = origin{namespace: "lab", labels: map[string]string{reaperPod: "main"}}
)

// attempt is an attempt to connect to a TCP port.
type attempt struct {
	who  string
	from origin
	port int32
	want bool
}

// TestWhoMayConnect checks, as a network plugin would, who reaches which port of engines and retrieval
// pods.
func TestWhoMayConnect(t *testing.T) {
	restricted := &v1alpha1.NetworkPolicySpec{
		Readers: &v1alpha1.NetworkPeers{Namespaces: []string{"ingress"}, CIDRs: []v1alpha1.CIDR{"10.1.0.0/16"}},
		Metrics: &v1alpha1.NetworkPeers{Namespaces: []string{"monitoring", "tracing"}},
	}
	for name, test := range map[string]struct {
		spec      *v1alpha1.NetworkPolicySpec
		operator  string
		embedded  bool
		component string
		attempts  []attempt
	}{
		"engine": {nil, "varve-system", false, v1alpha1.ComponentEngine, []attempt{
			{"retrieval pods", archivePod(v1alpha1.ComponentRetrieval), Port, true},
			{"the operator", operatorPod, Port, true},
			{"a pod that looks like the operator", falseOperator, Port, false},
			{"a pod that looks like a retrieval pod", foreignPod, Port, false},
			{"the retrieval pods of another archive", otherArchive, Port, false},
			{"a pod beside", otherPod, Port, false},
			{"the office", office, Port, false},
			{"Prometheus", prometheus, MetricsPort, true},
			{"the office", office, MetricsPort, true},
			{"the operator", operatorPod, 22, false},
		}},
		"engine, operator outside": {nil, "", false, v1alpha1.ComponentEngine, []attempt{
			{"the operator outside", office, Port, true},
			{"retrieval pods", archivePod(v1alpha1.ComponentRetrieval), Port, true},
		}},
		"embedded engine": {nil, "varve-system", true, v1alpha1.ComponentEngine, []attempt{
			{"readers", office, Port, true},
			{"the operator", operatorPod, EmbeddedInternalPort, true},
			{"readers", office, EmbeddedInternalPort, false},
			{"a pod beside", otherPod, EmbeddedInternalPort, false},
			{"a pod that looks like a retrieval pod", archivePod(v1alpha1.ComponentRetrieval), EmbeddedInternalPort, false},
		}},
		"restricted embedded engine": {restricted, "varve-system", true, v1alpha1.ComponentEngine, []attempt{
			{"the control room", controlRoom, Port, true},
			{"the office", office, Port, false},
			{"the control room", controlRoom, EmbeddedInternalPort, false},
			{"the operator", operatorPod, EmbeddedInternalPort, true},
		}},
		"retrieval": {nil, "varve-system", false, v1alpha1.ComponentRetrieval, []attempt{
			{"the office", office, Port, true},
			{"a pod beside", otherPod, Port, true},
			{"Prometheus", prometheus, MetricsPort, true},
			{"the office", office, EmbeddedInternalPort, false},
		}},
		"restricted retrieval": {restricted, "varve-system", false, v1alpha1.ComponentRetrieval, []attempt{
			{"the control room", controlRoom, Port, true},
			{"the Ingress", origin{namespace: "ingress"}, Port, true},
			{"the office", office, Port, false},
			{"a pod beside", otherPod, Port, false},
			{"Prometheus", prometheus, Port, false},
			{"Prometheus", prometheus, MetricsPort, true},
			{"the control room", controlRoom, MetricsPort, false},
			{"a pod beside", otherPod, MetricsPort, false},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := inCassandra("lab", "main")
			if test.embedded {
				a.Spec.Storage = v1alpha1.StorageSpec{Embedded: &v1alpha1.EmbeddedSpec{}}
			}
			a.Spec.NetworkPolicy = test.spec
			p := renderedIn[netv1.NetworkPolicy](t, Input{Archiver: a, OperatorNamespace: test.operator}, "NetworkPolicy", componentName("main", test.component))
			if !matches(&p.Spec.PodSelector, Labels("main", test.component)) {
				t.Errorf("the policy selects %v", p.Spec.PodSelector)
			}
			check(t, p, test.attempts)
		})
	}
}

// TestWhoMayConnectToCassandra checks who reaches which port of the nodes of a managed datacenter.
func TestWhoMayConnectToCassandra(t *testing.T) {
	always := []attempt{
		{"engines", archivePod(v1alpha1.ComponentEngine), cqlPort, true},
		{"retrieval pods", archivePod(v1alpha1.ComponentRetrieval), cqlPort, true},
		{"the schema Job", archivePod(v1alpha1.ComponentSchema), cqlPort, true},
		{"engines", archivePod(v1alpha1.ComponentEngine), jmxPort, false},
		{"another node", cassandraNode, 7000, true},
		{"another node", cassandraNode, managementPort, true},
		{"a pod beside", otherPod, cqlPort, false},
		{"a pod beside", otherPod, 7000, false},
		{"a pod beside", otherPod, jmxPort, false},
		{"another archive", otherArchive, cqlPort, false},
		{"a pod that looks like an engine", foreignPod, cqlPort, false},
		{"a pod that looks like a node", origin{namespace: "tenant", labels: cassandraNode.labels}, 7000, false},
		{"the office", office, cqlPort, false},
		{"cass-operator", cassOperator, managementPort, true},
	}
	for name, test := range map[string]struct {
		file      string
		operators []string
		spec      *v1alpha1.NetworkPolicySpec
		attempts  []attempt
	}{
		"unknown operator": {"managed", nil, nil, []attempt{
			{"everybody", office, managementPort, true},
			{"cass-operator", cassOperator, cqlPort, false},
			{"Prometheus", prometheus, metricsPort, true},
			{"Reaper, without k8ssandra-operator", reaper, cqlPort, false},
		}},
		"known operator": {"managed", []string{"cass-system"}, nil, []attempt{
			{"a pod beside", otherPod, managementPort, false},
			{"an engine", archivePod(v1alpha1.ComponentEngine), managementPort, false},
			{"the office", office, managementPort, false},
			{"cass-operator", cassOperator, cqlPort, true},
		}},
		"other clients": {"managed", []string{"cass-system"}, &v1alpha1.NetworkPolicySpec{
			Cassandra: &v1alpha1.NetworkPeers{Namespaces: []string{"analysis"}},
			Metrics:   &v1alpha1.NetworkPeers{Namespaces: []string{"monitoring"}},
		}, []attempt{
			{"analysis", origin{namespace: "analysis"}, cqlPort, true},
			{"analysis", origin{namespace: "analysis"}, managementPort, false},
			{"analysis", origin{namespace: "analysis"}, metricsPort, false},
			{"Prometheus", prometheus, legacyMetricsPort, true},
		}},
		"operators in two namespaces": {"k8ssandra", []string{"k8ssandra-system", "cass-system"}, nil, []attempt{
			{"k8ssandra-operator", origin{namespace: "k8ssandra-system"}, managementPort, true},
			{"the office", office, managementPort, false},
		}},
		"k8ssandra": {"k8ssandra", []string{"cass-system"}, nil, []attempt{
			{"Reaper", reaper, managementPort, true},
			{"Reaper", reaper, cqlPort, true},
			{"a pod that looks like Reaper", origin{namespace: "tenant", labels: reaper.labels}, cqlPort, false},
			{"k8ssandra-operator", cassOperator, backupPort, true},
			{"a pod beside", otherPod, backupPort, false},
		}},
		"k8ssandra with an unknown operator": {"k8ssandra", nil, nil, []attempt{
			{"k8ssandra-operator", cassOperator, backupPort, true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := load(t, "testdata/"+test.file+".in.yaml")
			a.Name, a.Namespace, a.Spec.NetworkPolicy = "main", "lab", test.spec
			in := Input{Archiver: a, Datacenter: Datacenter{Kind: datacenters[test.file]}, CassandraOperatorNamespaces: test.operators}
			p := renderedIn[netv1.NetworkPolicy](t, in, "NetworkPolicy", "main-cassandra")
			if !matches(&p.Spec.PodSelector, cassandraNode.labels) || matches(&p.Spec.PodSelector, Labels("main", v1alpha1.ComponentEngine)) {
				t.Errorf("the policy selects %v", p.Spec.PodSelector)
			}
			check(t, p, slices.Concat(always, test.attempts))
		})
	}
}

// TestEnginesOfTheHostReachCassandra checks that engines with the address of a node can write, unless
// the spec says which addresses may.
func TestEnginesOfTheHostReachCassandra(t *testing.T) {
	a := load(t, "testdata/managed.in.yaml")
	a.Spec.Engines.HostNetwork = true
	in := Input{Archiver: a, Datacenter: Datacenter{Kind: KindCassandraDatacenter}, CassandraOperatorNamespaces: []string{"cass-system"}}
	check(t, renderedIn[netv1.NetworkPolicy](t, in, "NetworkPolicy", "main-cassandra"), []attempt{
		{"a node", controlRoom, cqlPort, true},
		{"a node", controlRoom, managementPort, false},
	})
	a.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Cassandra: &v1alpha1.NetworkPeers{CIDRs: []v1alpha1.CIDR{"10.1.0.0/16"}}}
	check(t, renderedIn[netv1.NetworkPolicy](t, in, "NetworkPolicy", "main-cassandra"), []attempt{
		{"a node", controlRoom, cqlPort, true},
		{"the office", office, cqlPort, false},
	})
}

// TestOnlyManagedCassandraHasAPolicy checks that the operator makes no policy for nodes that do not
// exist yet, or that it does not run.
func TestOnlyManagedCassandraHasAPolicy(t *testing.T) {
	for _, file := range []string{"embedded", "external", "managed"} {
		for _, o := range Archiver(Input{Archiver: load(t, "testdata/"+file+".in.yaml"), Image: "varve:1"}) {
			if *o.GetKind() == "NetworkPolicy" && strings.HasSuffix(*o.GetName(), "-cassandra") {
				t.Errorf("%s has a policy for Cassandra", file)
			}
		}
	}
}

// TestEPICSTrafficIsOpen checks that Channel Access and pvAccess work in a namespace that denies
// traffic by default, and that datagrams are only allowed if there are searches by UDP.
func TestEPICSTrafficIsOpen(t *testing.T) {
	yes, no := true, false
	for name, test := range map[string]struct {
		epics v1alpha1.EPICSSpec
		host  bool
		udp   bool
	}{
		"no searches":           {v1alpha1.EPICSSpec{}, false, false},
		"name servers":          {v1alpha1.EPICSSpec{CANameServers: []string{"gw"}, PVANameServers: []string{"gw"}}, false, false},
		"addresses":             {v1alpha1.EPICSSpec{CAAddrList: []string{"10.1.2.3"}}, false, true},
		"pvAccess addresses":    {v1alpha1.EPICSSpec{PVAAddrList: []string{"10.1.2.3"}}, false, true},
		"broadcast":             {v1alpha1.EPICSSpec{AutoAddrList: &yes}, false, true},
		"host network":          {v1alpha1.EPICSSpec{}, true, true},
		"host, but no searches": {v1alpha1.EPICSSpec{AutoAddrList: &no}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := inCassandra("lab", "main")
			a.Spec.EPICS, a.Spec.Engines.HostNetwork = test.epics, test.host
			p := renderedIn[netv1.NetworkPolicy](t, Input{Archiver: a, OperatorNamespace: "varve-system"}, "NetworkPolicy", "main-engine")
			if got := allows(p, office, corev1.ProtocolUDP, 50123); got != test.udp {
				t.Errorf("UDP from an IOC is allowed: %v, want %v", got, test.udp)
			}
			if len(p.Spec.Egress) != 1 || len(p.Spec.Egress[0].To) != 0 || len(p.Spec.Egress[0].Ports) != 0 {
				t.Errorf("egress %v, want everything", p.Spec.Egress)
			}
		})
	}
}

func check(t *testing.T, p *netv1.NetworkPolicy, attempts []attempt) {
	t.Helper()
	for _, try := range attempts {
		if got := allows(p, try.from, corev1.ProtocolTCP, try.port); got != try.want {
			t.Errorf("%s to port %d: allowed %v, want %v", try.who, try.port, got, try.want)
		}
	}
}

// allows reports whether a policy lets somebody connect to a port.
func allows(p *netv1.NetworkPolicy, from origin, protocol corev1.Protocol, port int32) bool {
	for _, rule := range p.Spec.Ingress {
		inPorts, inPeers := len(rule.Ports) == 0, len(rule.From) == 0
		for _, q := range rule.Ports {
			inPorts = inPorts || *q.Protocol == protocol && (q.Port == nil || q.Port.IntVal == port)
		}
		for i := range rule.From {
			inPeers = inPeers || isPeer(&rule.From[i], from, p.Namespace)
		}
		if inPorts && inPeers {
			return true
		}
	}
	return false
}

func isPeer(peer *netv1.NetworkPolicyPeer, from origin, namespace string) bool {
	if peer.IPBlock != nil {
		return from.address != "" && netip.MustParsePrefix(peer.IPBlock.CIDR).Contains(netip.MustParseAddr(from.address))
	}
	if from.address != "" {
		return false
	}
	if peer.NamespaceSelector == nil && from.namespace != namespace {
		return false
	}
	if peer.NamespaceSelector != nil && !matches(peer.NamespaceSelector, map[string]string{corev1.LabelMetadataName: from.namespace}) {
		return false
	}
	return peer.PodSelector == nil || matches(peer.PodSelector, from.labels)
}

func matches(selector *metav1.LabelSelector, set map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		panic(err)
	}
	return s.Matches(labels.Set(set))
}
