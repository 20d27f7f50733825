package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Archiver is an archive and the pods that fill and serve it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.engines.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=arc,categories=varve
// +kubebuilder:printcolumn:name="Engines",type=string,JSONPath=`.status.engines`,description="Ready engines, of all engines"
// +kubebuilder:printcolumn:name="Shards",type=string,JSONPath=`.status.shards`,description="Captured shards, of all shards"
// +kubebuilder:printcolumn:name="Rebalancing",type=string,JSONPath=`.status.moves.progress`,description="Completed shard moves, of all begun; empty while no shard moves"
// +kubebuilder:printcolumn:name="Channels",type=integer,JSONPath=`.status.channels.total`
// +kubebuilder:printcolumn:name="Connected",type=integer,JSONPath=`.status.channels.connected`
// +kubebuilder:printcolumn:name="Rate",type=number,JSONPath=`.status.rates.samplesPerSecond`,description="Samples per second"
// +kubebuilder:printcolumn:name="Storage",type=string,JSONPath=`.status.conditions[?(@.type=="StorageReady")].reason`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`,priority=1,description="Address for reading the archive"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must have at most 40 lower-case letters, digits and '-', start with a letter and not end with '-': names of Services and labels contain it"
type Archiver struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the archive and its pods.
	// +required
	Spec ArchiverSpec `json:"spec,omitzero"`
	// status is what the operator observed. Before that, Ready is Unknown, so that nobody takes a new
	// object for a ready one.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Ready", status: "Unknown", reason: "Pending", message: "the operator has not seen this object yet", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Reconciling", status: "True", reason: "Pending", message: "the operator has not seen this object yet", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status *ArchiverStatus `json:"status,omitempty"`
}

// ArchiverList is a list of Archivers.
//
// +kubebuilder:object:root=true
type ArchiverList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Archiver `json:"items"`
}

// ArchiverSpec defines an archive and its pods.
//
// +kubebuilder:validation:XValidation:rule="!has(self.storage.embedded) || self.engines.replicas <= 1",fieldPath=".engines.replicas",message="storage.embedded allows one engine: set engines.replicas to 1, or use storage.cassandra"
// +kubebuilder:validation:XValidation:rule="!has(self.storage.embedded) || !has(self.engines.autoscaling)",fieldPath=".engines.autoscaling",message="storage.embedded allows one engine: remove engines.autoscaling, or use storage.cassandra"
// +kubebuilder:validation:XValidation:rule="!has(self.storage.embedded) || !has(self.upgrade) || self.upgrade.finalize != 'Automatic'",fieldPath=".upgrade.finalize",message="the operator cannot finalize an archive on a volume, because its engine holds the volume: set finalize to Manual, and run varve store finalize as docs/compatibility.md describes"
// +kubebuilder:validation:XValidation:rule="!has(self.engines.autoscaling) || self.engines.autoscaling.maxReplicas <= self.shards",fieldPath=".engines.autoscaling.maxReplicas",message="maxReplicas must be at most spec.shards: each engine needs a shard"
// +kubebuilder:validation:XValidation:rule="!has(self.storage.embedded) || !has(self.engines.hostNetwork) || !self.engines.hostNetwork || has(self.retrieval.access)",fieldPath=".retrieval.access",message="with storage.embedded and engines.hostNetwork the archive can be reached from outside of the cluster, so you must choose who may read: set retrieval.access; with {authenticators: [{anonymous: {}}]} everybody may read"
// +kubebuilder:validation:XValidation:rule="!has(self.internalTLS) || self.internalTLS.mode != 'Required' || has(oldSelf.internalTLS)",fieldPath=".internalTLS.mode",message="pods without certificates still run, so the others must go on talking to them: set mode to Optional first, and to Required afterwards"
// +kubebuilder:validation:XValidation:rule="has(self.internalTLS) || !has(oldSelf.internalTLS) || oldSelf.internalTLS.mode != 'Required'",fieldPath=".internalTLS",message="pods that require certificates still run, so the others must go on using them: set internalTLS.mode to Optional first, and remove internalTLS when all pods are replaced"
type ArchiverSpec struct {
	// engines are the pods that capture PVs.
	// +optional
	// +kubebuilder:default={}
	Engines EnginesSpec `json:"engines,omitempty,omitzero"`

	// retrieval are the pods that serve the archive over HTTP.
	// +optional
	// +kubebuilder:default={}
	Retrieval RetrievalSpec `json:"retrieval,omitempty,omitzero"`

	// networkPolicy says who may connect to the pods, in addition to the connections that the archive
	// itself needs. Default: everybody may read and scrape metrics, and nobody may be a further client of
	// managed Cassandra.
	// +optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty"`

	// internalTLS makes the pods of the archive and the operator authenticate each other with certificates of
	// cert-manager. Default: no certificates; then NetworkPolicies alone say who may use /internal of engines.
	// Remove it only while mode is Optional. A change restarts the pods.
	// +optional
	InternalTLS *InternalTLSSpec `json:"internalTLS,omitempty"`

	// shards is the number of parts that the PVs are divided into. A shard moves between engines
	// as a whole. It cannot be changed: choose several times the number of engines that you may
	// ever need.
	// +optional
	// +kubebuilder:default=64
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="shards cannot be changed"
	Shards int32 `json:"shards,omitempty"`

	// rebalance is whether shards move between engines to even out the load: Auto (the default)
	// or Off. Shards of an engine that is removed always move.
	// +optional
	// +kubebuilder:default=Auto
	Rebalance RebalanceMode `json:"rebalance,omitempty"`

	// epics defines how engines find IOCs.
	// +optional
	EPICS EPICSSpec `json:"epics,omitempty,omitzero"`

	// storage defines where the archive is stored. It cannot be changed from cassandra to
	// embedded or back.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.embedded) == has(oldSelf.embedded)",message="storage cannot be changed from cassandra to embedded or back: create another Archiver"
	Storage StorageSpec `json:"storage,omitzero"`

	// upgrade defines when an upgrade is finalized. Until then you can go back to the former release. Default:
	// the operator does not finalize upgrades.
	// +optional
	Upgrade *UpgradeSpec `json:"upgrade,omitempty"`

	// paused stops changes of pods. While it is true, the schema Job does not run again, no retrieval pod or
	// engine gets a new version or new settings, a replacement of pods that has begun stops, and the operator
	// does not finalize an upgrade. You can still change the numbers of replicas, the shards and the groups, and
	// pods that end are started again.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// image is the image of all pods. Default: the operator's own image.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Image string `json:"image,omitempty"`
	// imagePullPolicy is the image pull policy of all pods.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// imagePullSecrets are the Secrets for pulling the image of all pods.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// logLevel is the log level of all pods: debug, info (the default), warn or error.
	// +optional
	// +kubebuilder:validation:Enum=debug;info;warn;error
	LogLevel string `json:"logLevel,omitempty"`
}

// RebalanceMode is whether shards move to even out the load.
//
// +kubebuilder:validation:Enum=Auto;Off
type RebalanceMode string

// Rebalance modes.
const (
	RebalanceAuto RebalanceMode = "Auto"
	RebalanceOff  RebalanceMode = "Off"
)

// RetrievalSpec describes the pods that serve the archive. With storage.embedded, the engine
// serves it instead.
//
// +kubebuilder:validation:XValidation:rule="has(self.access) || !has(self.service) || !has(self.service.type) || self.service.type == 'ClusterIP'",fieldPath=".access",message="a Service of type NodePort or LoadBalancer can be reached from outside of the cluster, so you must choose who may read: set retrieval.access; with {authenticators: [{anonymous: {}}]} everybody may read"
// +kubebuilder:validation:XValidation:rule="!has(self.readThroughNames) || has(self.readThrough)",fieldPath=".readThroughNames",message="readThroughNames is about the older archive: set readThrough, or remove readThroughNames"
// +kubebuilder:validation:XValidation:rule="!has(self.readThroughSecretRef) || has(self.readThrough)",fieldPath=".readThroughSecretRef",message="readThroughSecretRef is about the older archive: set readThrough, or remove readThroughSecretRef"
type RetrievalSpec struct {
	// replicas is the number of pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Replicas *int32 `json:"replicas,omitempty"`

	PodSpec `json:",inline"`

	// readThrough is the address of an older archive, which answers for times before this archive began to
	// capture a PV. For an Archiver Appliance or a Varve it is the address of its retrieval, such as
	// http://appliance:17668/retrieval. For a server of the JSON archive access protocol it is the URL that
	// Phoebus uses, such as json:http://archive:9812/archive-access/api/1.0;key=1.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https?://[^/?#@; ]+(/[^?#; ]*)?|json:https?://[^/?#@; ]+(/[^?#; ]*)?(;key=[0-9]{1,9})?)$')",message="readThrough must be the address of an archive without user name and parameters, such as http://appliance:17668/retrieval or json:http://archive:9812/archive-access/api/1.0;key=1"
	ReadThrough string `json:"readThrough,omitempty"`

	// readThroughNames is the maximum number of PVs in the older archive's list of names. A name needs 100 to 200
	// bytes of memory while the list is read again. Default: 1000000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20000000
	ReadThroughNames int32 `json:"readThroughNames,omitempty"`

	// readThroughSecretRef names a Secret with the key token, or the keys username and password. Pods send them to
	// the older archive with each request, so the address should begin with https. Default: no credentials.
	// +optional
	ReadThroughSecretRef *SecretReference `json:"readThroughSecretRef,omitempty"`

	// service is the Service that clients use.
	// +optional
	Service RetrievalService `json:"service,omitempty,omitzero"`

	// access says who may read which PVs. Default: everybody who reaches the Service may read every
	// PV. A change restarts the pods.
	// +optional
	Access *RetrievalAccess `json:"access,omitempty"`
}

// RetrievalService is the Service that clients use. It listens on port 80 and on 17665, the
// Archiver Appliance's retrieval port.
type RetrievalService struct {
	// type is the type of the Service: ClusterIP (the default), NodePort or LoadBalancer.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
	// annotations are set on the Service.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PodSpec has the settings that engine and retrieval pods share. They are passed to Kubernetes
// unchanged.
type PodSpec struct {
	// resources are the compute resources of the container. Default: requests for CPU and memory,
	// and a memory limit.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// podAnnotations are set on the pods, for example k8s.v1.cni.cncf.io/networks for Multus.
	// +optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
	// podLabels are set on the pods, in addition to the operator's own labels.
	// +optional
	PodLabels map[string]string `json:"podLabels,omitempty"`
	// nodeSelector selects the nodes of the pods by label.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations are the taints that the pods tolerate.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// priorityClassName is the PriorityClass of the pods.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// EPICSSpec defines how engines find IOCs. Its fields correspond to the environment variables of
// EPICS clients.
type EPICSSpec struct {
	// defaultProvider is the protocol of channels if neither the channel nor its group sets one:
	// CA (Channel Access) or PVA (pvAccess).
	// +optional
	// +kubebuilder:default=CA
	DefaultProvider Provider `json:"defaultProvider,omitempty"`
	// caAddrList are the addresses for UDP searches, as HOST or HOST:PORT: EPICS_CA_ADDR_LIST.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:Pattern=`^\S+$`
	CAAddrList []string `json:"caAddrList,omitempty"`
	// caNameServers are the servers for TCP searches, as HOST or HOST:PORT:
	// EPICS_CA_NAME_SERVERS. TCP searches work through firewalls and from pod networks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:Pattern=`^\S+$`
	CANameServers []string `json:"caNameServers,omitempty"`
	// pvaAddrList are the addresses for UDP searches by pvAccess: EPICS_PVA_ADDR_LIST.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:Pattern=`^\S+$`
	PVAAddrList []string `json:"pvaAddrList,omitempty"`
	// pvaNameServers are the servers for TCP searches by pvAccess: EPICS_PVA_NAME_SERVERS.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:Pattern=`^\S+$`
	PVANameServers []string `json:"pvaNameServers,omitempty"`
	// autoAddrList also searches by broadcast on the pod's networks: EPICS_CA_AUTO_ADDR_LIST and
	// EPICS_PVA_AUTO_ADDR_LIST. Default: true with hostNetwork, otherwise false.
	// +optional
	AutoAddrList *bool `json:"autoAddrList,omitempty"`
	// maxArrayBytes is the size of the largest value that engines accept, for both protocols:
	// EPICS_CA_MAX_ARRAY_BYTES.
	// +optional
	MaxArrayBytes *resource.Quantity `json:"maxArrayBytes,omitempty"`
	// maxCircuitsPerServer is the number of TCP connections from all engines to one IOC above
	// which the condition Degraded warns. Small IOCs run out of connections.
	// +optional
	// +kubebuilder:default=8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxCircuitsPerServer int32 `json:"maxCircuitsPerServer,omitempty"`
}

// StorageSpec defines where the archive is stored. Exactly one of cassandra and embedded must be
// set.
//
// +kubebuilder:validation:ExactlyOneOf=cassandra;embedded
type StorageSpec struct {
	// cassandra stores the archive in a Cassandra cluster.
	// +optional
	Cassandra *CassandraSpec `json:"cassandra,omitempty"`
	// embedded stores the archive on a volume of a single engine. Use it to try Varve out.
	// +optional
	Embedded *EmbeddedSpec `json:"embedded,omitempty"`
	// diskLimit is the disk space that the archive can use, including all replicas. When the
	// archive reaches 90 % of it, the oldest raw samples are deleted until the archive uses 85 %;
	// rollups stay. Default for Cassandra: data_disk_usage_max_disk_size of its nodes, if that is
	// set. Otherwise there is no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('1Gi')) >= 0",message="diskLimit must be at least 1Gi"
	DiskLimit *resource.Quantity `json:"diskLimit,omitempty"`
	// diskGuard sets what happens when the archive is close to its disk limit.
	// +optional
	DiskGuard *DiskGuardSpec `json:"diskGuard,omitempty"`
}

// DiskGuardAction is what the disk guard does when the archive reaches 90 % of its disk limit.
//
// +kubebuilder:validation:Enum=Delete;Warn
type DiskGuardAction string

// Actions of the disk guard.
const (
	// DiskGuardDelete deletes the oldest raw samples.
	DiskGuardDelete DiskGuardAction = "Delete"
	// DiskGuardWarn deletes nothing, and reports that the limit is near.
	DiskGuardWarn DiskGuardAction = "Warn"
)

// DiskGuardSpec sets what happens when the archive is close to its disk limit.
type DiskGuardSpec struct {
	// action is Delete, which deletes the oldest raw samples, or Warn, which deletes nothing and
	// sets the condition DiskGuard.
	// +optional
	// +kubebuilder:default=Delete
	Action DiskGuardAction `json:"action,omitempty"`
	// keepAtLeast is the minimum age of the raw samples that the disk guard deletes. Younger
	// samples stay even if the archive exceeds its limit.
	// +optional
	// +kubebuilder:default="1d"
	// +kubebuilder:validation:XValidation:rule="self.matches('^0*[1-9][0-9]*(d|w|y)$')",message="keepAtLeast must be a number of days, weeks or years, such as 30d"
	KeepAtLeast Duration `json:"keepAtLeast,omitempty"`
}

// CassandraSpec selects a Cassandra cluster. Exactly one of managed and external must be set.
//
// +kubebuilder:validation:ExactlyOneOf=managed;external
// +kubebuilder:validation:XValidation:rule="has(self.managed) == has(oldSelf.managed)",message="cassandra cannot be changed from managed to external or back: create another Archiver and read from both"
// +kubebuilder:validation:XValidation:rule="has(self.keyspace) == has(oldSelf.keyspace)",fieldPath=".keyspace",message="keyspace cannot be changed"
type CassandraSpec struct {
	// managed runs a cluster for this archive, by k8ssandra-operator or cass-operator.
	// +optional
	Managed *ManagedCassandra `json:"managed,omitempty"`
	// external uses an existing cluster.
	// +optional
	External *ExternalCassandra `json:"external,omitempty"`
	// keyspace is the keyspace of the archive. No other archive may use it. Default: the
	// namespace and name of the Archiver, with other characters replaced by '_'.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=48
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="keyspace cannot be changed"
	Keyspace string `json:"keyspace,omitempty"`
}

// ExternalCassandra is an existing Cassandra cluster.
type ExternalCassandra struct {
	// contactPoints are some nodes of the cluster, as HOST or HOST:PORT. Varve discovers the
	// other nodes.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:Pattern=`^[^\s,]+$`
	ContactPoints []string `json:"contactPoints,omitempty"`
	// datacenter is the Cassandra datacenter to use. Default: the datacenter of the first contact
	// point.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Datacenter string `json:"datacenter,omitempty"`
	// secretRef names a Secret with the keys username and password.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// tls encrypts connections.
	// +optional
	TLS *CassandraTLS `json:"tls,omitempty"`
}

// CassandraTLS encrypts connections to Cassandra.
type CassandraTLS struct {
	// secretRef names a Secret with the key ca.crt, the authority that signed the servers'
	// certificates. If servers request client certificates, the Secret also has the keys tls.crt
	// and tls.key. Default: the system's authorities.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// serverName is the name that the servers' certificates must have. Default: the address of
	// the node, or the name of a contact point.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
}

// SecretReference names a Secret in the same namespace. Pods mount it; the operator does not read
// it.
type SecretReference struct {
	// name is the name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// EmbeddedSpec describes the volume of an embedded archive.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName)",fieldPath=".storageClassName",message="storageClassName cannot be changed"
type EmbeddedSpec struct {
	// size is the size of the volume.
	// +optional
	// +kubebuilder:default="10Gi"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="size cannot be changed"
	Size *resource.Quantity `json:"size,omitempty"`
	// storageClassName is the StorageClass of the volume. Default: the cluster's default
	// StorageClass.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="storageClassName cannot be changed"
	StorageClassName *string `json:"storageClassName,omitempty"`
	// deletionPolicy defines what happens to the volume when the Archiver is deleted: Retain (the
	// default) keeps it for another Archiver of the same name; Delete deletes it.
	// +optional
	// +kubebuilder:default=Retain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}
