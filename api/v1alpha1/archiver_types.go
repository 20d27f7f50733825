package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Archiver is an archive and the fleet of pods that fills and serves it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.engines.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=arc,categories=varve
// +kubebuilder:printcolumn:name="Engines",type=string,JSONPath=`.status.engines`,description="Engines that are ready, of those wanted"
// +kubebuilder:printcolumn:name="Shards",type=string,JSONPath=`.status.shards`,description="Shards that are captured, of all"
// +kubebuilder:printcolumn:name="Rebalancing",type=string,JSONPath=`.status.moves.progress`,description="Moves of shards between engines that are done, of those begun; empty if none is under way"
// +kubebuilder:printcolumn:name="Channels",type=integer,JSONPath=`.status.channels.total`
// +kubebuilder:printcolumn:name="Connected",type=integer,JSONPath=`.status.channels.connected`
// +kubebuilder:printcolumn:name="Rate",type=number,JSONPath=`.status.rates.samplesPerSecond`,description="Samples per second"
// +kubebuilder:printcolumn:name="Storage",type=string,JSONPath=`.status.conditions[?(@.type=="StorageReady")].reason`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`,priority=1,description="Where the archive is read"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name of an Archiver has at most 40 small letters, digits and '-', and starts with a letter: Services and labels are made of it"
type Archiver struct {
	metav1.TypeMeta `json:",inline"`
	// metadata has the name, labels and so on.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the fleet that is asked for.
	// +required
	Spec ArchiverSpec `json:"spec,omitzero"`
	// status is what the operator observed.
	// +optional
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

// ArchiverSpec is the fleet that is asked for.
//
// +kubebuilder:validation:XValidation:rule="!has(self.storage.embedded) || self.engines.replicas <= 1",fieldPath=".engines.replicas",message="storage.embedded belongs to one engine: use storage.cassandra for more"
// +kubebuilder:validation:XValidation:rule="!has(self.storage.embedded) || !has(self.engines.autoscaling)",fieldPath=".engines.autoscaling",message="storage.embedded belongs to one engine, which can not be autoscaled: use storage.cassandra"
// +kubebuilder:validation:XValidation:rule="!has(self.engines.autoscaling) || self.engines.autoscaling.maxReplicas <= self.shards",fieldPath=".engines.autoscaling.maxReplicas",message="maxReplicas is at most spec.shards: an engine without a shard has nothing to do"
type ArchiverSpec struct {
	// engines capture PVs.
	// +optional
	// +kubebuilder:default={}
	Engines EnginesSpec `json:"engines,omitempty,omitzero"`

	// retrieval pods serve the archive over HTTP.
	// +optional
	// +kubebuilder:default={}
	Retrieval RetrievalSpec `json:"retrieval,omitempty,omitzero"`

	// shards is into how many parts the PVs are divided, which move between
	// engines as a whole. It can not be changed: have some for every engine
	// that there may ever be.
	// +optional
	// +kubebuilder:default=64
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4096
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="shards can not be changed"
	Shards int32 `json:"shards,omitempty"`

	// rebalance says whether shards move to even out the load: Auto (the
	// default) or Off. Shards of engines that go always move.
	// +optional
	// +kubebuilder:default=Auto
	Rebalance RebalanceMode `json:"rebalance,omitempty"`

	// epics says how engines find IOCs.
	// +optional
	EPICS EPICSSpec `json:"epics,omitempty,omitzero"`

	// storage is where the archive is kept. Its kind can not be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.embedded) == has(oldSelf.embedded)",message="the kind of storage can not be changed: make another Archiver"
	Storage StorageSpec `json:"storage,omitzero"`

	// image of all pods. Default: the operator's own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Image string `json:"image,omitempty"`
	// imagePullPolicy of all pods.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// imagePullSecrets of all pods.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// logLevel of all pods: debug, info (the default), warn or error.
	// +optional
	// +kubebuilder:validation:Enum=debug;info;warn;error
	LogLevel string `json:"logLevel,omitempty"`
}

// RebalanceMode says whether shards move to even out the load.
//
// +kubebuilder:validation:Enum=Auto;Off
type RebalanceMode string

// Modes of rebalancing.
const (
	RebalanceAuto RebalanceMode = "Auto"
	RebalanceOff  RebalanceMode = "Off"
)

// EnginesSpec describes the engine pods.
//
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.resources) || (has(self.resources.requests) && 'cpu' in self.resources.requests) || (has(self.resources.limits) && 'cpu' in self.resources.limits)",fieldPath=".resources",message="autoscaling needs resources.requests.cpu: it compares what engines take with it"
type EnginesSpec struct {
	// replicas is the number of engines. With autoscaling leave it out: whoever
	// scales writes it, as kubectl scale does. 0 rests autoscaling, too.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`

	// autoscaling lets a HorizontalPodAutoscaler, which the operator makes, decide
	// on replicas by the CPU that engines take. Default: nobody but you decides.
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`

	PodSpec `json:",inline"`

	// hostNetwork runs engines in the network of their nodes: for IOCs that
	// are found by broadcast, or that pods can not reach. The namespace must
	// allow it: label pod-security.kubernetes.io/enforce=privileged.
	// +optional
	HostNetwork bool `json:"hostNetwork,omitempty"`

	// spoolSize is how much of its node's disk an engine may take to keep
	// samples while Cassandra is away and its memory is full. 0 switches that
	// off. What waits there survives the container, not the pod.
	// +optional
	// +kubebuilder:default="2Gi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) == 0 || quantity(string(self)).compareTo(quantity('64Mi')) >= 0",message="spoolSize is 0, or at least 64Mi"
	SpoolSize *resource.Quantity `json:"spoolSize,omitempty"`
}

// AutoscalingSpec bounds what a HorizontalPodAutoscaler may do. It needs
// metrics-server, or another source of metrics.k8s.io.
//
// +kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",fieldPath=".minReplicas",message="minReplicas is at most maxReplicas"
type AutoscalingSpec struct {
	// minReplicas is the least number of engines.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MinReplicas int32 `json:"minReplicas,omitempty"`
	// maxReplicas is the largest number of engines.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxReplicas int32 `json:"maxReplicas,omitempty"`
	// targetCPUUtilizationPercentage is how much CPU engines should take on
	// average, in percent of what they request.
	// +optional
	// +kubebuilder:default=70
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	TargetCPUUtilizationPercentage int32 `json:"targetCPUUtilizationPercentage,omitempty"`
}

// RetrievalSpec describes the pods that serve the archive. With storage.embedded
// the engine serves it.
type RetrievalSpec struct {
	// replicas is the number of pods.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Replicas *int32 `json:"replicas,omitempty"`

	PodSpec `json:",inline"`

	// service is the Service that clients use.
	// +optional
	Service RetrievalService `json:"service,omitempty,omitzero"`
}

// RetrievalService is the Service that clients use, on port 80 and on the
// Archiver Appliance's retrieval port, 17665.
type RetrievalService struct {
	// type of the Service: ClusterIP (the default), NodePort or LoadBalancer.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
	// annotations of the Service.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PodSpec has the settings that pods of all kinds share. They are handed to
// Kubernetes as they are.
type PodSpec struct {
	// resources of the container. Default: some CPU and memory requested, and
	// a limit on memory.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// podAnnotations are set on the pods, for instance k8s.v1.cni.cncf.io/networks for Multus.
	// +optional
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
	// podLabels in addition to the operator's own.
	// +optional
	PodLabels map[string]string `json:"podLabels,omitempty"`
	// nodeSelector of the pods.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations of the pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// priorityClassName of the pods.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// EPICSSpec says how engines find IOCs. Its fields are the variables that EPICS
// clients know.
type EPICSSpec struct {
	// defaultProvider is the protocol of channels where neither they nor their
	// group say another one: CA (Channel Access) or PVA (pvAccess).
	// +optional
	// +kubebuilder:default=CA
	DefaultProvider Provider `json:"defaultProvider,omitempty"`
	// caAddrList are addresses that are searched by UDP, HOST or HOST:PORT:
	// EPICS_CA_ADDR_LIST.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:Pattern=`^\S+$`
	CAAddrList []string `json:"caAddrList,omitempty"`
	// caNameServers are servers that are searched by TCP, HOST or HOST:PORT:
	// EPICS_CA_NAME_SERVERS. They reach through firewalls and out of pod
	// networks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:Pattern=`^\S+$`
	CANameServers []string `json:"caNameServers,omitempty"`
	// pvaAddrList are the same for pvAccess: EPICS_PVA_ADDR_LIST.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:Pattern=`^\S+$`
	PVAAddrList []string `json:"pvaAddrList,omitempty"`
	// pvaNameServers are the same for pvAccess: EPICS_PVA_NAME_SERVERS.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:Pattern=`^\S+$`
	PVANameServers []string `json:"pvaNameServers,omitempty"`
	// autoAddrList also searches by broadcast on the pod's networks:
	// EPICS_CA_AUTO_ADDR_LIST and EPICS_PVA_AUTO_ADDR_LIST. Default: true with
	// hostNetwork, else false.
	// +optional
	AutoAddrList *bool `json:"autoAddrList,omitempty"`
	// maxArrayBytes is the largest value taken, by both protocols:
	// EPICS_CA_MAX_ARRAY_BYTES.
	// +optional
	MaxArrayBytes *resource.Quantity `json:"maxArrayBytes,omitempty"`
	// maxCircuitsPerServer is the number of TCP connections to one IOC above
	// which a condition warns. Small IOCs run out of them.
	// +optional
	// +kubebuilder:default=8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxCircuitsPerServer int32 `json:"maxCircuitsPerServer,omitempty"`
}

// StorageSpec is where the archive is kept: exactly one of cassandra and embedded is set.
//
// +kubebuilder:validation:ExactlyOneOf=cassandra;embedded
type StorageSpec struct {
	// cassandra is a Cassandra cluster.
	// +optional
	Cassandra *CassandraSpec `json:"cassandra,omitempty"`
	// embedded keeps the archive on a volume of the one engine: for trying out.
	// +optional
	Embedded *EmbeddedSpec `json:"embedded,omitempty"`
	// diskLimit is how much disk the archive may take, with all replicas. When it
	// comes to 90 % of that, the oldest raw samples are deleted until it would take
	// 85 %; rollups stay. Default for Cassandra: data_disk_usage_max_disk_size of its
	// nodes, if they have it set. Else nothing is deleted.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('1Gi')) >= 0",message="diskLimit is at least 1Gi"
	DiskLimit *resource.Quantity `json:"diskLimit,omitempty"`
}

// CassandraSpec says which Cassandra cluster: exactly one of its fields is set.
//
// +kubebuilder:validation:ExactlyOneOf=managed;external
// +kubebuilder:validation:XValidation:rule="has(self.managed) == has(oldSelf.managed)",message="managed and external can not be exchanged: make another Archiver, and read from both"
// +kubebuilder:validation:XValidation:rule="has(self.keyspace) == has(oldSelf.keyspace)",fieldPath=".keyspace",message="keyspace can not be changed"
type CassandraSpec struct {
	// managed is a cluster that is run for this archive, by K8ssandra.
	// +optional
	Managed *ManagedCassandra `json:"managed,omitempty"`
	// external is a cluster that somebody else runs.
	// +optional
	External *ExternalCassandra `json:"external,omitempty"`
	// keyspace of the archive, which no other archive may use. Default: the
	// namespace and the name of the Archiver, with '_' for other characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=48
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="keyspace can not be changed"
	Keyspace string `json:"keyspace,omitempty"`
}

// ExternalCassandra is a cluster that somebody else runs.
type ExternalCassandra struct {
	// contactPoints are some nodes, HOST or HOST:PORT; the others are found.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=261
	// +kubebuilder:validation:items:Pattern=`^[^\s,]+$`
	ContactPoints []string `json:"contactPoints,omitempty"`
	// datacenter to use. Default: that of the first contact point.
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
	// secretRef names a Secret with the key ca.crt, the authority that signed
	// the servers' certificates; and with tls.crt and tls.key, where servers
	// ask clients for a certificate. Default: the system's authorities.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// serverName that certificates must have. Default: the address of the node,
	// or the name of a contact point.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
}

// SecretReference names a Secret in the same namespace. The operator does not
// read it: it is mounted into pods.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// EmbeddedSpec describes the volume of an embedded archive.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName)",fieldPath=".storageClassName",message="storageClassName can not be changed"
type EmbeddedSpec struct {
	// size of the volume.
	// +optional
	// +kubebuilder:default="10Gi"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="size can not be changed"
	Size *resource.Quantity `json:"size,omitempty"`
	// storageClassName of the volume. Default: the cluster's default class.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="storageClassName can not be changed"
	StorageClassName *string `json:"storageClassName,omitempty"`
	// deletionPolicy is what deleting the Archiver does to the volume: Retain
	// (the default: another Archiver of the same name adopts it) or Delete.
	// +optional
	// +kubebuilder:default=Retain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}
