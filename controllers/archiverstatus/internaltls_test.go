package archiverstatus

import (
	"strings"
	"testing"

	"varve.dev/varve/api/v1alpha1"
)

func TestInternalTLSSaysWhatIsMissing(t *testing.T) {
	ready := map[string]Certificate{"main-engine-internal-tls": {Ready: true}, "main-retrieval-internal-tls": {Ready: true}}
	for name, c := range map[string]struct {
		mode          v1alpha1.InternalTLSMode
		state         InternalTLS
		want, message string
	}{
		"required":        {"Required", InternalTLS{Certificates: ready}, "True Required", "by their certificates"},
		"optional":        {"Optional", InternalTLS{Certificates: ready}, "False Optional", "varve_internal_tls_failures_total"},
		"no cert-manager": {"Required", InternalTLS{Missing: true}, "False NoCertManager", "install cert-manager"},
		"the beginning":   {"Required", InternalTLS{}, "False NoCertificate", "being created"},
		"old pods":        {"Required", InternalTLS{Held: true, Certificates: ready}, "False RollingOut", "some pods use no certificates yet"},
		"a wrong issuer": {"Required", InternalTLS{Certificates: map[string]Certificate{"a": {Ready: true}, "b": {Message: `issuer "x" not found`}}},
			"False NoCertificate", `the Certificate b is not ready: issuer "x" not found`},
		"no controller": {"Required", InternalTLS{Certificates: map[string]Certificate{"b": {}}}, "False NoCertificate", "check that cert-manager runs"},
	} {
		in := healthy()
		in.Archiver.Spec.InternalTLS = &v1alpha1.InternalTLSSpec{Mode: c.mode}
		in.InternalTLS = &c.state
		got := condition(t, Compute(in), v1alpha1.ConditionInternalTLS)
		if string(got.Status)+" "+got.Reason != c.want || !strings.Contains(got.Message, c.message) {
			t.Errorf("%s: %s %s: %s", name, got.Status, got.Reason, got.Message)
		}
	}
	for _, c := range Compute(healthy()).Conditions {
		if c.Type == v1alpha1.ConditionInternalTLS {
			t.Error("an Archiver without spec.internalTLS has the condition")
		}
	}
}
