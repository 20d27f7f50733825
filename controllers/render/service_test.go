package render

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"

	"varve.dev/varve/api/v1alpha1"
)

// TestEmbeddedIsServedByItsEngine checks the Service that clients use.
func TestEmbeddedIsServedByItsEngine(t *testing.T) {
	a := load(t, "testdata/embedded.in.yaml")
	s := rendered[corev1.Service](t, a, "Service", RetrievalName(a.Name))
	if s.Spec.Selector[v1alpha1.LabelComponent] != v1alpha1.ComponentEngine {
		t.Errorf("selector %v", s.Spec.Selector)
	}
	if len(s.Spec.Ports) != 2 || s.Spec.Ports[0].Port != 80 || s.Spec.Ports[1].Port != Port {
		t.Errorf("ports %v", s.Spec.Ports)
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
			p := rendered[netv1.NetworkPolicy](t, a, "NetworkPolicy", "main-engine")
			udp := false
			for _, port := range p.Spec.Ingress[0].Ports {
				udp = udp || *port.Protocol == corev1.ProtocolUDP && port.Port == nil
			}
			if udp != test.udp || len(p.Spec.Ingress[0].From) != 0 {
				t.Errorf("ingress %v, want UDP from everywhere to all ports: %v", p.Spec.Ingress, test.udp)
			}
			if len(p.Spec.Egress) != 1 || len(p.Spec.Egress[0].To) != 0 || len(p.Spec.Egress[0].Ports) != 0 {
				t.Errorf("egress %v, want everything", p.Spec.Egress)
			}
		})
	}
}
