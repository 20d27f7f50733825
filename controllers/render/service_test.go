package render

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

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
