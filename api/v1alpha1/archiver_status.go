package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchiverStatus is what the operator observed. Numbers are rounded. Transitions are written at
// once, numbers at most every 30 seconds.
type ArchiverStatus struct {
	// conditions are Ready, Reconciling, Stalled, Degraded, StorageReady, DiskGuard and Finalized; with
	// spec.engines.autoscaling also Autoscaling; with PVs of redundancy 2 also Redundant; with
	// storage.cassandra.managed also CassandraReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas is the number of engine pods, for the scale subresource.
	// +optional
	Replicas int32 `json:"replicas"`
	// selector matches engine pods, for the scale subresource.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Selector string `json:"selector,omitempty"`

	// engines is the number of ready engines and of all engines, such as "2/3".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Engines string `json:"engines,omitempty"`
	// shards is the number of captured shards and of all shards, such as "64/64".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Shards string `json:"shards,omitempty"`

	// moves is the progress of shard moves between running engines. It is empty while no shard
	// moves, and is written at most every 5 seconds.
	// +optional
	Moves *MovesStatus `json:"moves,omitempty"`
	// worstCircuits are the up to 5 IOCs with the most connections from all engines.
	// +optional
	// +listType=map
	// +listMapKey=host
	// +kubebuilder:validation:MaxItems=5
	WorstCircuits []CircuitCount `json:"worstCircuits,omitempty"`

	// redundancy is the additional load of PVs that two engines capture. It is empty if no group
	// has redundancy 2.
	// +optional
	Redundancy *RedundancyStatus `json:"redundancy,omitempty"`

	// cassandra is the state of the datacenter of storage.cassandra.managed.
	// +optional
	Cassandra *CassandraStatus `json:"cassandra,omitempty"`

	// format has the format levels of the archive and of its engines.
	// +optional
	Format *FormatStatus `json:"format,omitempty"`

	// url is the address for reading the archive from inside the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url,omitempty"`

	// channels counts the channels of all groups by state.
	// +optional
	Channels *ChannelCounts `json:"channels,omitempty"`
	// rates are the rates of all groups together.
	// +optional
	Rates *Rates `json:"rates,omitempty"`
}

// RedundancyStatus is the additional load of second engines.
type RedundancyStatus struct {
	// channels is the number of channels with redundancy 2.
	// +optional
	Channels int32 `json:"channels"`
	// circuits is the number of connections to IOCs that engines have only as second engines.
	// +optional
	Circuits int32 `json:"circuits,omitempty"`
	// bytesPerDay is the number of bytes per day that second engines write to the journal.
	// status.rates includes them. They are kept for at most a day, because blocks hold each
	// sample once.
	// +optional
	BytesPerDay int64 `json:"bytesPerDay"`
}

// CassandraStatus is the state of a managed datacenter.
type CassandraStatus struct {
	// kind is the kind of the datacenter's object: K8ssandraCluster or CassandraDatacenter.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// name is the name of that object.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// nodes is the number of ready nodes and of all nodes, such as "2/3".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Nodes string `json:"nodes,omitempty"`
	// version is the version of Cassandra.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Version string `json:"version,omitempty"`
	// replicationFactor is the replication factor of the keyspace. A change appears here when it
	// is complete.
	// +optional
	ReplicationFactor int32 `json:"replicationFactor,omitempty"`
	// roleSecret changes when the operator makes the Secret with the password of the engines' user. The schema Job
	// then runs again and sets the password in Cassandra.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	RoleSecret string `json:"roleSecret,omitempty"`
}

// MovesStatus is the progress of shard moves. It counts all moves since the first of them began,
// until no shard moves any more.
type MovesStatus struct {
	// progress is the number of completed moves and of all moves, such as "3/12".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Progress string `json:"progress,omitempty"`
	// done is the number of completed moves.
	// +optional
	Done int32 `json:"done,omitempty"`
	// total is the number of moves that have begun.
	// +optional
	Total int32 `json:"total,omitempty"`
	// undone is the number of abandoned moves.
	// +optional
	Undone int32 `json:"undone,omitempty"`
	// since is when the first move began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// CircuitCount is the number of connections to one IOC.
type CircuitCount struct {
	// host is the address of the IOC. It starts with pva:// for pvAccess.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=300
	Host string `json:"host,omitempty"`
	// circuits is the number of connections.
	// +optional
	Circuits int32 `json:"circuits,omitempty"`
}

// ConditionStorageReady of an Archiver is true while engines can write to the storage.
const ConditionStorageReady = "StorageReady"

// ConditionDiskGuard of an Archiver is true while raw samples are deleted to stay below the disk
// limit, and until their disk space is free.
const ConditionDiskGuard = "DiskGuard"

// ConditionRedundant of an Archiver is true while two engines on different nodes capture each PV
// of redundancy 2. Only archives with such PVs have it.
const ConditionRedundant = "Redundant"

// ConditionAutoscaling of an Archiver is true while the number of engines follows their load.
const ConditionAutoscaling = "Autoscaling"

// ConditionCassandraReady of an Archiver is true while its managed datacenter has all its nodes.
// Only archives with storage.cassandra.managed have it.
const ConditionCassandraReady = "CassandraReady"

// ConditionInternalTLS of an Archiver is true while its pods require certificates for /internal. Only archives with
// spec.internalTLS have it.
const ConditionInternalTLS = "InternalTLS"
