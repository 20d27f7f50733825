package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ManagedCassandra is a Cassandra datacenter that the operator asks for: as a
// K8ssandraCluster of k8ssandra-operator, or as a CassandraDatacenter where only
// cass-operator is installed. One of the two must be.
//
// +kubebuilder:validation:XValidation:rule="!has(self.racks) || self.size >= self.racks.size()",fieldPath=".size",message="size is at least the number of racks: each has a node"
// +kubebuilder:validation:XValidation:rule="!has(self.replicationFactor) || self.replicationFactor <= self.size",fieldPath=".replicationFactor",message="replicationFactor is at most size: each replica is on a node of its own"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName)",fieldPath=".storageClassName",message="storageClassName can not be changed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.racks) || has(self.racks)",fieldPath=".racks",message="racks can be added at the end, not removed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.racks) || !has(self.racks) || (self.racks.size() >= oldSelf.racks.size() && oldSelf.racks.all(r, self.racks.exists(n, n.name == r.name)))",fieldPath=".racks",message="racks can be added at the end, not removed"
// +kubebuilder:validation:XValidation:rule="!has(self.operator) || !has(oldSelf.operator) || self.operator == oldSelf.operator",fieldPath=".operator",message="operator can not be changed"
// +kubebuilder:validation:XValidation:rule="!(has(self.medusa) || has(self.reaper)) || !has(self.operator) || self.operator == 'K8ssandra'",fieldPath=".operator",message="medusa and reaper need operator K8ssandra: cass-operator has none"
// +kubebuilder:validation:XValidation:rule="!has(self.heapSize) || !has(self.resources) || !has(self.resources.limits) || !('memory' in self.resources.limits) || quantity(string(self.heapSize)).compareTo(quantity(string(self.resources.limits['memory']))) < 0",fieldPath=".heapSize",message="heapSize is less than resources.limits.memory: Cassandra takes as much beside its heap"
type ManagedCassandra struct {
	// operator that runs the nodes: K8ssandra or CassOperator. Default: K8ssandra where
	// k8ssandra-operator is installed, else CassOperator.
	// +optional
	Operator CassandraOperator `json:"operator,omitempty"`

	// size is the number of nodes. Nodes join and leave one by one, and the archive is
	// read and filled meanwhile.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Size int32 `json:"size,omitempty"`
	// replicationFactor is how many nodes have each sample. Default: 3, or size if that
	// is less. It is changed by one at a time, with a repair after each.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	ReplicationFactor *int32 `json:"replicationFactor,omitempty"`
	// racks are parts of the datacenter that fail on their own, such as zones. Each has
	// as many nodes as the others, or one more. Have as many as there are replicas.
	// Default: one.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Racks []CassandraRack `json:"racks,omitempty"`

	// version of Cassandra, 5.0 or newer.
	// +optional
	// +kubebuilder:default="5.0.9"
	// +kubebuilder:validation:Pattern=`^[0-9]+\.[0-9]+\.[0-9]+$`
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="int(self.split('.')[0]) >= 5",message="version is 5.0 or newer: an archive needs it"
	Version string `json:"version,omitempty"`
	// image of the nodes, with the management API. Default: the one that cass-operator
	// takes for the version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Image string `json:"image,omitempty"`

	// storage is the volume of each node. It can grow where its storage class allows
	// that.
	// +optional
	// +kubebuilder:default="100Gi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity(string(oldSelf))) >= 0",message="storage can grow, not shrink"
	Storage *resource.Quantity `json:"storage,omitempty"`
	// storageClassName of the volumes. Default: the cluster's default class.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="storageClassName can not be changed"
	StorageClassName *string `json:"storageClassName,omitempty"`
	// deletionPolicy says what deleting the Archiver does to the volumes: Retain (the
	// default) keeps them, and an Archiver of the same name and spec finds its data again;
	// Delete deletes them.
	// +optional
	// +kubebuilder:default=Retain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// resources of each node. Default: 1 CPU and 4 Gi of memory requested, and a limit of
	// 4 Gi.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// heapSize of each node's JVM. Default: half of the memory in resources, 16 Gi at most.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('256Mi')) >= 0",message="heapSize is at least 256Mi"
	HeapSize *resource.Quantity `json:"heapSize,omitempty"`
	// commitLog says what a sample that is acknowledged survives: Group (the default) a
	// power cut of all nodes, as each is synced to disk before; Periodic a crash of
	// Cassandra, but the power cut only on nodes that had 10 s since.
	// +optional
	// +kubebuilder:default=Group
	CommitLog CommitLogPolicy `json:"commitLog,omitempty"`
	// cassandraYAML are settings of cassandra.yaml that are added to those of the operator,
	// or replace them.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	CassandraYAML *apiextensionsv1.JSON `json:"cassandraYAML,omitempty"`

	// nodeSelector of the nodes' pods.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations of the nodes' pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// shareWorkers lets several Cassandra nodes run on one Kubernetes node, which then
	// takes them all when it is lost.
	// +optional
	ShareWorkers bool `json:"shareWorkers,omitempty"`

	// tls encrypts connections between nodes, and to clients.
	// +optional
	TLS *ManagedCassandraTLS `json:"tls,omitempty"`
	// superuserSecretRef names a Secret with the keys username and password, for
	// administration. Default: one that the operator makes, <archiver>-cassandra-superuser.
	// +optional
	SuperuserSecretRef *SecretReference `json:"superuserSecretRef,omitempty"`

	// medusa has the settings of backups, as K8ssandraCluster has them in spec.medusa.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Medusa *apiextensionsv1.JSON `json:"medusa,omitempty"`
	// reaper has the settings of repairs, as K8ssandraCluster has them in spec.reaper.
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

// CommitLogPolicy says what a sample that is acknowledged survives.
//
// +kubebuilder:validation:Enum=Group;Periodic
type CommitLogPolicy string

// Policies of the commit log.
const (
	CommitLogGroup    CommitLogPolicy = "Group"
	CommitLogPeriodic CommitLogPolicy = "Periodic"
)

// CassandraRack is a part of the datacenter that fails on its own.
type CassandraRack struct {
	// name of the rack.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=11
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// zone whose Kubernetes nodes have its pods: their label topology.kubernetes.io/zone.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Zone string `json:"zone,omitempty"`
	// nodeLabels that the Kubernetes nodes of its pods have, instead of a zone or besides.
	// +optional
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
}

// ManagedCassandraTLS encrypts the connections of a managed datacenter.
type ManagedCassandraTLS struct {
	// secretRef names a Secret with the keys tls.crt, tls.key, tls-combined.pem (key and
	// certificate in one file) and ca.crt, such as cert-manager makes with
	// additionalOutputFormats CombinedPEM. The certificate has serverName.
	// +required
	SecretRef SecretReference `json:"secretRef,omitzero"`
	// serverName that the certificate has. Default: the name of the nodes' Service,
	// <archiver>-db-<archiver>-service.<namespace>.svc, with shortened names where those
	// are long.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
}
