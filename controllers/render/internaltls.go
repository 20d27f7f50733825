package render

import (
	appsv1 "k8s.io/api/apps/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"

	"varve.dev/varve/api/v1alpha1"
	"varve.dev/varve/cluster/identity"
)

// internalTLSDir is the folder with the certificate of a pod for /internal.
const internalTLSDir = "/etc/varve/internal-tls"

// KindCertificate is the kind of cert-manager's certificates.
const KindCertificate = "Certificate"

// CertificateAPIVersion is the API version of KindCertificate.
const CertificateAPIVersion = "cert-manager.io/v1"

// certificateSpec is the spec of cert-manager's Certificate.
type certificateSpec struct {
	SecretName  string                     `json:"secretName"`
	URIs        []string                   `json:"uris"`
	Usages      []string                   `json:"usages"`
	Duration    string                     `json:"duration"`
	RenewBefore string                     `json:"renewBefore"`
	PrivateKey  privateKey                 `json:"privateKey"`
	IssuerRef   v1alpha1.InternalTLSIssuer `json:"issuerRef"`
}

type privateKey struct {
	Algorithm      string `json:"algorithm"`
	Size           int    `json:"size"`
	RotationPolicy string `json:"rotationPolicy"`
}

// InternalTLSSecret returns the name of the Secret, and of the Certificate, of a component.
func InternalTLSSecret(archiver, component string) string {
	return componentName(archiver, component) + "-internal-tls"
}

// certificates returns the Certificates of the components. cert-manager writes them to Secrets, and renews them
// after two thirds of their validity.
func certificates(a *v1alpha1.Archiver) (all []Object) {
	if a.Spec.InternalTLS == nil {
		return nil
	}
	components := []string{v1alpha1.ComponentEngine}
	if !Embedded(a) {
		components = append(components, v1alpha1.ComponentRetrieval)
	}
	for _, c := range components {
		name := InternalTLSSecret(a.Name, c)
		all = append(all, newForeign(CertificateAPIVersion, KindCertificate, name, a, c, certificateSpec{
			SecretName: name, URIs: []string{string(identity.Of(a.Namespace, a.Name, c))},
			Usages:   []string{"digital signature", "server auth", "client auth"},
			Duration: "24h0m0s", RenewBefore: "8h0m0s",
			PrivateKey: privateKey{"ECDSA", 256, "Always"}, IssuerRef: a.Spec.InternalTLS.IssuerRef,
		}))
	}
	return all
}

// internalTLSMode returns the mode of the pods, or "".
func (in Input) internalTLSMode() v1alpha1.InternalTLSMode {
	switch t := in.Archiver.Spec.InternalTLS; {
	case t == nil:
		return ""
	case t.Mode == v1alpha1.InternalTLSRequired && !in.HoldInternalTLS:
		return v1alpha1.InternalTLSRequired
	}
	return v1alpha1.InternalTLSOptional
}

// internalTLS returns the flags about certificates of a component, the volume with its certificate, and the annotation that
// tells the operator how to connect.
func (in Input) internalTLS(component string) (flags []string, volumes []volume, annotations map[string]string) {
	a, mode := in.Archiver, in.internalTLSMode()
	if mode == "" {
		return nil, nil, nil
	}
	flags = []string{"--internal-tls-dir=" + internalTLSDir}
	if mode == v1alpha1.InternalTLSOptional {
		flags = append(flags, "--internal-tls-optional")
	}
	if component == v1alpha1.ComponentEngine && in.OperatorNamespace != "" {
		flags = append(flags, "--operator-namespace="+in.OperatorNamespace)
	}
	// Pods start also without the Secret and the ConfigMap: engines must capture, and retrieval pods can read the
	// journal. Kubernetes mounts both as soon as they exist.
	source := core.ProjectedVolumeSource().WithDefaultMode(0o440).WithSources(core.VolumeProjection().WithSecret(
		core.SecretProjection().WithName(InternalTLSSecret(a.Name, component)).WithOptional(true)))
	if ref := a.Spec.InternalTLS.AuthoritiesRef; ref != nil {
		source.WithSources(core.VolumeProjection().WithConfigMap(core.ConfigMapProjection().WithName(ref.Name).WithOptional(true).
			WithItems(core.KeyToPath().WithKey("ca.crt").WithPath(identity.AuthoritiesFile))))
	}
	return flags, []volume{{
		VolumeApplyConfiguration: core.Volume().WithName("internal-tls").WithProjected(source), path: internalTLSDir, readOnly: true,
	}}, map[string]string{v1alpha1.AnnotationInternalTLS: string(mode)}
}

// HoldInternalTLS reports whether pods must not require certificates yet, because one of the Deployments still has pods that
// do not use any. deployments are those of the Archiver that exist.
func HoldInternalTLS(deployments ...*appsv1.Deployment) bool {
	for _, d := range deployments {
		if d == nil {
			continue // its first pods have certificates
		}
		switch v1alpha1.InternalTLSMode(d.Spec.Template.Annotations[v1alpha1.AnnotationInternalTLS]) {
		case v1alpha1.InternalTLSRequired:
		case v1alpha1.InternalTLSOptional:
			s := &d.Status
			if s.ObservedGeneration != d.Generation || s.UpdatedReplicas != s.Replicas || d.Spec.Replicas != nil && s.UpdatedReplicas < *d.Spec.Replicas {
				return true
			}
		default:
			return true
		}
	}
	return false
}
