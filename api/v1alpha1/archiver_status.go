package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchiverStatus is what the operator observed: rounded, and written at most
// every 30 seconds but for transitions.
type ArchiverStatus struct {
	// conditions are Ready, Progressing, Degraded, StorageReady, DiskGuard and, with
	// spec.engines.autoscaling, Autoscaling; with PVs of redundancy 2 also Redundant; with
	// storage.cassandra.managed also CassandraReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status is of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas is the number of engine pods, for the scale subresource.
	// +optional
	Replicas int32 `json:"replicas"`
	// selector matches engine pods, for the scale subresource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Selector string `json:"selector,omitempty"`

	// engines that are ready, of those wanted, such as "2/3".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Engines string `json:"engines,omitempty"`
	// shards that an engine captures, of all, such as "64/64".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Shards string `json:"shards,omitempty"`

	// moves are those of shards between living engines; nothing while none is under
	// way. They are written at most every 5 seconds.
	// +optional
	Moves *MovesStatus `json:"moves,omitempty"`
	// worstCircuits are the IOCs with the most connections from all engines, at most 5.
	// +optional
	// +listType=map
	// +listMapKey=host
	// +kubebuilder:validation:MaxItems=5
	WorstCircuits []CircuitCount `json:"worstCircuits,omitempty"`

	// redundancy is what it takes that two engines capture some PVs; nothing where no
	// group asks for it.
	// +optional
	Redundancy *RedundancyStatus `json:"redundancy,omitempty"`

	// cassandra is the datacenter of storage.cassandra.managed.
	// +optional
	Cassandra *CassandraStatus `json:"cassandra,omitempty"`

	// url is where the archive is read, inside of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url,omitempty"`

	// channels counts the channels of all groups by state.
	// +optional
	Channels *ChannelCounts `json:"channels,omitempty"`
	// rates of all groups.
	// +optional
	Rates *Rates `json:"rates,omitempty"`
}

// RedundancyStatus is what second engines take, beside the first ones.
type RedundancyStatus struct {
	// channels that two engines are to capture.
	// +optional
	Channels int32 `json:"channels"`
	// circuits are the connections to IOCs that engines have only as second ones.
	// +optional
	Circuits int32 `json:"circuits,omitempty"`
	// bytesPerDay that second engines write to the journal. rates has them, too. They
	// stay for a day at most: blocks have every sample once.
	// +optional
	BytesPerDay int64 `json:"bytesPerDay"`
}

// CassandraStatus is a datacenter that is run for an archive.
type CassandraStatus struct {
	// kind of the object that stands for it: K8ssandraCluster or CassandraDatacenter.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// name of that object.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// nodes that are ready, of those wanted, such as "2/3".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Nodes string `json:"nodes,omitempty"`
	// version that runs.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Version string `json:"version,omitempty"`
	// replicationFactor that the keyspace has: a change counts when it is complete.
	// +optional
	ReplicationFactor int32 `json:"replicationFactor,omitempty"`
}

// MovesStatus is how far moves of shards have come. It is of all moves from when the
// first began until none is under way.
type MovesStatus struct {
	// progress is the number of moves that are done, of all, such as "3/12".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Progress string `json:"progress,omitempty"`
	// done is the number of moves that came to their end.
	// +optional
	Done int32 `json:"done,omitempty"`
	// total is the number of moves that began.
	// +optional
	Total int32 `json:"total,omitempty"`
	// undone is the number of moves that were given up.
	// +optional
	Undone int32 `json:"undone,omitempty"`
	// since is when the first one began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// CircuitCount is the number of connections to one IOC.
type CircuitCount struct {
	// host is the address of the IOC, with pva:// in front for pvAccess.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=300
	Host string `json:"host,omitempty"`
	// circuits is the number of connections.
	// +optional
	Circuits int32 `json:"circuits,omitempty"`
}

// ConditionStorageReady of an Archiver: engines can write to the storage.
const ConditionStorageReady = "StorageReady"

// ConditionDiskGuard of an Archiver: raw samples are being deleted for want of room, or
// were, and the room is not free yet.
const ConditionDiskGuard = "DiskGuard"

// ConditionRedundant of an Archiver: what two engines are to capture, two engines on
// different nodes do. Only archives with such PVs have it.
const ConditionRedundant = "Redundant"

// ConditionAutoscaling of an Archiver: the number of engines follows their load.
const ConditionAutoscaling = "Autoscaling"

// ConditionCassandraReady of an Archiver: the datacenter that is run for it has all its
// nodes. Only archives with storage.cassandra.managed have it.
const ConditionCassandraReady = "CassandraReady"
