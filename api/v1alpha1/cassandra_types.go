package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ManagedCassandra is a Cassandra datacenter that runs for one archive. Varve creates a
// K8ssandraCluster if k8ssandra-operator is installed, otherwise a CassandraDatacenter for
// cass-operator. One of the two operators must be installed.
//
// +kubebuilder:validation:XValidation:rule="!has(self.racks) || self.size >= self.racks.size()",fieldPath=".size",message="size must be at least the number of racks: each rack needs a node"
// +kubebuilder:validation:XValidation:rule="!has(self.replicationFactor) || self.replicationFactor <= self.size",fieldPath=".replicationFactor",message="replicationFactor must be at most size: each replica needs its own node"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName)",fieldPath=".storageClassName",message="storageClassName cannot be changed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.racks) || has(self.racks)",fieldPath=".racks",message="racks cannot be removed or renamed; add new racks at the end"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.racks) || !has(self.racks) || (self.racks.size() >= oldSelf.racks.size() && oldSelf.racks.all(r, self.racks.exists(n, n.name == r.name)))",fieldPath=".racks",message="racks cannot be removed or renamed; add new racks at the end"
// +kubebuilder:validation:XValidation:rule="!has(self.operator) || !has(oldSelf.operator) || self.operator == oldSelf.operator",fieldPath=".operator",message="operator cannot be changed"
// +kubebuilder:validation:XValidation:rule="!(has(self.medusa) || has(self.reaper)) || !has(self.operator) || self.operator == 'K8ssandra'",fieldPath=".operator",message="medusa and reaper require operator K8ssandra: cass-operator does not support them"
// +kubebuilder:validation:XValidation:rule="!has(self.heapSize) || !has(self.resources) || !has(self.resources.limits) || !('memory' in self.resources.limits) || quantity(string(self.heapSize)).compareTo(quantity(string(self.resources.limits['memory']))) < 0",fieldPath=".heapSize",message="heapSize must be less than resources.limits.memory: Cassandra needs about as much memory outside its heap"
type ManagedCassandra struct {
	// operator is the operator that runs the nodes: K8ssandra or CassOperator. Default: K8ssandra
	// if k8ssandra-operator is installed, otherwise CassOperator.
	// +optional
	Operator CassandraOperator `json:"operator,omitempty"`

	// size is the number of nodes. When it changes, nodes join or leave one by one; capture and
	// reads continue.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Size int32 `json:"size,omitempty"`
	// replicationFactor is the number of nodes that store each sample. Default: 3, or size if
	// that is smaller. A change is applied in steps of one, with a repair after each step.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	ReplicationFactor *int32 `json:"replicationFactor,omitempty"`
	// racks are the parts of the datacenter that can fail independently, such as zones. Nodes are
	// distributed evenly over the racks. Use as many racks as there are replicas. Default: one
	// rack.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Racks []CassandraRack `json:"racks,omitempty"`

	// version is the version of Cassandra, 5.0 or newer.
	// +optional
	// +kubebuilder:default="5.0.9"
	// +kubebuilder:validation:Pattern=`^[0-9]+\.[0-9]+\.[0-9]+$`
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="int(self.split('.')[0]) >= 5",message="version must be 5.0 or newer"
	Version string `json:"version,omitempty"`
	// image is the image of the nodes. It must include the management API. Default:
	// cass-operator's image for the version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Image string `json:"image,omitempty"`

	// storage is the size of each node's volume. It can grow if the StorageClass allows volume
	// expansion.
	// +optional
	// +kubebuilder:default="100Gi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity(string(oldSelf))) >= 0",message="storage can grow but not shrink"
	Storage *resource.Quantity `json:"storage,omitempty"`
	// storageClassName is the StorageClass of the volumes. Default: the cluster's default
	// StorageClass.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="storageClassName cannot be changed"
	StorageClassName *string `json:"storageClassName,omitempty"`
	// deletionPolicy defines what happens to the volumes when the Archiver is deleted: Retain
	// (the default) keeps them for an Archiver of the same name and spec; Delete deletes them.
	// +optional
	// +kubebuilder:default=Retain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// resources are the compute resources of each node. Default: requests of 1 CPU and 4Gi of
	// memory, and a memory limit of 4Gi.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// heapSize is the heap size of each node's JVM. Default: half of the memory in resources, but
	// at most 16Gi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('256Mi')) >= 0",message="heapSize must be at least 256Mi"
	HeapSize *resource.Quantity `json:"heapSize,omitempty"`
	// commitLog defines when Cassandra syncs its commit log to disk. Group (the default) syncs
	// before each acknowledgement: acknowledged samples survive a power cut of all nodes.
	// Periodic syncs every 10 s: acknowledged samples survive a crash of Cassandra, but a power
	// cut of all nodes loses up to the last 10 s.
	// +optional
	// +kubebuilder:default=Group
	CommitLog CommitLogPolicy `json:"commitLog,omitempty"`
	// cassandraYAML are settings for cassandra.yaml. They are added to the operator's settings or
	// replace them.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	CassandraYAML *apiextensionsv1.JSON `json:"cassandraYAML,omitempty"`

	// nodeSelector selects the Kubernetes nodes of the pods by label.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations are the taints that the pods tolerate.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// shareWorkers allows several Cassandra nodes on one Kubernetes node. They all fail when that
	// node fails.
	// +optional
	ShareWorkers bool `json:"shareWorkers,omitempty"`

	// tls encrypts connections between nodes and to clients.
	// +optional
	TLS *ManagedCassandraTLS `json:"tls,omitempty"`
	// superuserSecretRef names a Secret with the keys username and password of the superuser.
	// Default: <archiver>-cassandra-superuser, which the operator creates.
	// +optional
	SuperuserSecretRef *SecretReference `json:"superuserSecretRef,omitempty"`

	// medusa are the settings of backups, as in spec.medusa of K8ssandraCluster.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Medusa *apiextensionsv1.JSON `json:"medusa,omitempty"`
	// reaper are the settings of repairs, as in spec.reaper of K8ssandraCluster.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Reaper *apiextensionsv1.JSON `json:"reaper,omitempty"`
}

// CassandraOperator is an operator that runs Cassandra.
//
// +kubebuilder:validation:Enum=K8ssandra;CassOperator
type CassandraOperator string

// Operators that run Cassandra.
const (
	OperatorK8ssandra    CassandraOperator = "K8ssandra"
	OperatorCassOperator CassandraOperator = "CassOperator"
)

// CommitLogPolicy is when Cassandra syncs its commit log to disk.
//
// +kubebuilder:validation:Enum=Group;Periodic
type CommitLogPolicy string

// Commit log policies.
const (
	CommitLogGroup    CommitLogPolicy = "Group"
	CommitLogPeriodic CommitLogPolicy = "Periodic"
)

// CassandraRack is a part of the datacenter that can fail independently.
type CassandraRack struct {
	// name is the name of the rack.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=11
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// zone is the zone of the rack's Kubernetes nodes: their label topology.kubernetes.io/zone.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Zone string `json:"zone,omitempty"`
	// nodeLabels are labels that the rack's Kubernetes nodes must have, in addition to the zone
	// if one is set.
	// +optional
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
}

// ManagedCassandraTLS encrypts the connections of a managed datacenter.
type ManagedCassandraTLS struct {
	// secretRef names a Secret with the keys tls.crt, tls.key, tls-combined.pem (key and
	// certificate in one file) and ca.crt, such as cert-manager creates with
	// additionalOutputFormats CombinedPEM. The certificate must have serverName.
	// +required
	SecretRef SecretReference `json:"secretRef,omitzero"`
	// serverName is the name that the certificate has. Default: the name of the nodes' Service,
	// <archiver>-db-<archiver>-service.<namespace>.svc; long names are shortened.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
}
