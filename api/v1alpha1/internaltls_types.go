package v1alpha1

// InternalTLSSpec describes the certificates with which the pods of an archive and the operator authenticate each
// other on the engines' port for /internal. Only the retrieval pods of the Archiver and the operator may use this
// port then.
type InternalTLSSpec struct {
	// mode is Optional (the default) or Required. With Optional, the pods use certificates where they can, but
	// also connect to pods without them, and count these connections. Begin with Optional if pods already run.
	// Set Required when the count no longer increases.
	// +optional
	// +kubebuilder:default=Optional
	Mode InternalTLSMode `json:"mode,omitempty"`
	// issuerRef names the issuer of cert-manager that signs the certificates. It must be an issuer with an
	// authority, such as one of the types CA or Vault, and not of the types SelfSigned or ACME.
	// +required
	IssuerRef InternalTLSIssuer `json:"issuerRef,omitzero"`
	// authoritiesRef names a ConfigMap with further authorities that the pods trust, in the key ca.crt, such as
	// the target of a Bundle of trust-manager. Use it to change the authority of the issuer without a gap.
	// +optional
	AuthoritiesRef *ConfigMapReference `json:"authoritiesRef,omitempty"`
}

// InternalTLSMode says whether processes without certificates may use /internal.
//
// +kubebuilder:validation:Enum=Optional;Required
type InternalTLSMode string

// Modes of internal TLS.
const (
	InternalTLSOptional InternalTLSMode = "Optional"
	InternalTLSRequired InternalTLSMode = "Required"
)

// InternalTLSIssuer names an issuer of cert-manager.
type InternalTLSIssuer struct {
	// name is the name of the issuer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// kind is Issuer (the default) for an issuer in the namespace of the Archiver, ClusterIssuer for one of the
	// cluster, or a kind of an external issuer.
	// +optional
	// +kubebuilder:default=Issuer
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// group is the API group of the issuer.
	// +optional
	// +kubebuilder:default=cert-manager.io
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
}

// ConfigMapReference names a ConfigMap in the same namespace.
type ConfigMapReference struct {
	// name is the name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}
