package archiverstatus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"varve.dev/varve/api/v1alpha1"
)

// InternalTLS is the state of the certificates for /internal.
type InternalTLS struct {
	// Missing is set if the cluster has no CRD for certificates.
	Missing bool
	// Held is set while some pods use no certificates yet, so that no pod requires them.
	Held bool
	// Certificates are the Certificates by name.
	Certificates map[string]Certificate
}

// Certificate is the state of a Certificate.
type Certificate struct {
	Ready bool
	// Message is cert-manager's.
	Message string
}

// internalTLS returns the condition InternalTLS of an Archiver with spec.internalTLS.
func internalTLS(in *Input) []metav1.Condition {
	t := in.InternalTLS
	if t == nil || in.Archiver.Spec.InternalTLS == nil {
		return nil
	}
	no := func(reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionInternalTLS, Status: metav1.ConditionFalse, Reason: reason, Message: message}}
	}
	if t.Missing {
		return no(v1alpha1.ReasonNoCertManager,
			"the cluster has no CRD of cert-manager, so the pods get no certificates; install cert-manager, or remove spec.internalTLS")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Certificates)) {
		if c := t.Certificates[name]; !c.Ready {
			return no(v1alpha1.ReasonNoCertificate, fmt.Sprintf("the Certificate %s is not ready: %s", name,
				cmp.Or(c.Message, "cert-manager has not processed it; check that cert-manager runs and that spec.internalTLS.issuerRef is right")))
		}
	}
	if len(t.Certificates) == 0 {
		return no(v1alpha1.ReasonNoCertificate, "the Certificates are being created")
	}
	switch {
	case in.Archiver.Spec.InternalTLS.Mode != v1alpha1.InternalTLSRequired:
		return no(v1alpha1.ReasonInternalTLSOptional,
			"the pods have certificates, but also accept connections without them; set spec.internalTLS.mode to Required when varve_internal_tls_failures_total of all pods no longer increases")
	case t.Held:
		return no(v1alpha1.ReasonRollingOut, "some pods use no certificates yet; the pods require certificates when these pods are replaced")
	}
	return []metav1.Condition{{Type: v1alpha1.ConditionInternalTLS, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonInternalTLSRequired, Message: "engines answer only retrieval pods and the operator on /internal, by their certificates"}}
}
