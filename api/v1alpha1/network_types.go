package v1alpha1

// NetworkPolicySpec says who may connect to the pods of an archive. The operator writes it into
// NetworkPolicies, which the network plugin of the cluster enforces. The operator and the retrieval pods can
// always reach the engines.
//
// +kubebuilder:validation:MinProperties=1
type NetworkPolicySpec struct {
	// readers may connect to the port for reading, 17665 of the pods. Default: everybody.
	// +optional
	Readers *NetworkPeers `json:"readers,omitempty"`
	// metrics may connect to the metrics: port 17666 of the pods, and 9000 and 9103 of the nodes of
	// storage.cassandra.managed. Default: everybody.
	// +optional
	Metrics *NetworkPeers `json:"metrics,omitempty"`
	// cassandra may connect to port 9042 of the nodes of storage.cassandra.managed, in addition to
	// the pods of the archive. Default: nobody. With engines.hostNetwork, engines have the addresses
	// of their nodes; then the default is everybody, and cidrs must contain these addresses.
	// +optional
	Cassandra *NetworkPeers `json:"cassandra,omitempty"`
}

// NetworkPeers are the pods of namespaces, and addresses.
//
// +kubebuilder:validation:MinProperties=1
type NetworkPeers struct {
	// namespaces are the names of namespaces, whose pods all may connect.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`
	// cidrs are networks outside of the cluster, such as 10.1.0.0/16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	CIDRs []CIDR `json:"cidrs,omitempty"`
}

// CIDR is a network such as 10.1.0.0/16.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=43
// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self) == cidr(self).masked()",message="cidr must be a network such as 10.1.0.0/16, with zeros after the prefix"
type CIDR string
