package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchiveShard says which engines capture one shard of an archive, and which
// channels that are. The operator makes it, as Kubernetes makes EndpointSlices;
// nobody else should change it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=as,categories=varve
// +kubebuilder:printcolumn:name="Archiver",type=string,JSONPath=`.spec.archiverRef.name`
// +kubebuilder:printcolumn:name="Index",type=integer,JSONPath=`.spec.index`
// +kubebuilder:printcolumn:name="Engine",type=string,JSONPath=`.spec.engines[0].name`,description="Engine that seals the shard"
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.spec.engines[1].name`,description="Second engine, while the shard moves"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.engines[0].phase`,description="Phase of the first engine that answered"
// +kubebuilder:printcolumn:name="Channels",type=integer,JSONPath=`.spec.channels`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ArchiveShard struct {
	metav1.TypeMeta `json:",inline"`
	// metadata has the name, labels and so on.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what to capture, and who does.
	// +required
	Spec ArchiveShardSpec `json:"spec,omitzero"`
	// status is what the engines answer, written on transitions only.
	// +optional
	Status *ArchiveShardStatus `json:"status,omitempty"`
}

// ArchiveShardList is a list of ArchiveShards.
//
// +kubebuilder:object:root=true
type ArchiveShardList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ArchiveShard `json:"items"`
}

// ArchiveShardSpec is what engines are to do.
type ArchiveShardSpec struct {
	// archiverRef names the Archiver.
	// +required
	ArchiverRef ArchiverReference `json:"archiverRef,omitzero"`

	// index of the shard, from 0. Those from spec.shards of the Archiver on, as
	// many again, have the PVs that two engines capture.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8191
	Index *int32 `json:"index,omitempty"`

	// engines that have to do with the shard. The first one seals. An engine
	// that is missing here and was never told to drain goes on capturing.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=4
	Engines []ShardEngine `json:"engines,omitempty"`

	// channels is the number of channels in all lists but those that are leaving.
	// +optional
	Channels int32 `json:"channels"`

	// lists are ConfigMaps with the channels, named by the hash of their
	// content. An empty list of lists means that nothing is to be captured: it
	// is an order, unlike a missing object.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Lists []ChannelListReference `json:"lists,omitempty"`

	// deletions are lists of PVs whose data the sealer deletes. None of them is
	// captured in any shard.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Deletions []ChannelListReference `json:"deletions,omitempty"`
}

// ShardEngine is an engine and its order.
type ShardEngine struct {
	// name of the engine, which is that of its pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// order is Capture, or Drain: to stop as soon as another engine with the
	// order Capture is in phase Capturing.
	// +required
	Order EngineOrder `json:"order,omitempty"`
}

// EngineOrder is what an engine is to do with a shard.
//
// +kubebuilder:validation:Enum=Capture;Drain
type EngineOrder string

// Orders.
const (
	OrderCapture EngineOrder = "Capture"
	OrderDrain   EngineOrder = "Drain"
)

// ChannelListReference names a ConfigMap in the same namespace that holds a
// channel list.
type ChannelListReference struct {
	// name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// leaving says that the channels of the list belong to other shards now. They
	// are captured here, too, until those capture them.
	// +optional
	Leaving bool `json:"leaving,omitempty"`
}

// ArchiveShardStatus is what the engines answer.
type ArchiveShardStatus struct {
	// engines have an entry each, written by themselves.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Engines []ShardEngineStatus `json:"engines,omitempty"`

	// sealer is the engine that seals the shard.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Sealer string `json:"sealer,omitempty"`
}

// ShardEngineStatus is one engine's answer.
type ShardEngineStatus struct {
	// name of the engine.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// phase of the engine in this shard.
	// +required
	Phase ShardPhase `json:"phase,omitempty"`
	// lists that the engine captures, by hash. It differs from the spec while
	// a change is on its way, or if a list can not be read.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Lists []string `json:"lists,omitempty"`
	// deleted are the lists of spec.deletions whose data is gone.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Deleted []string `json:"deleted,omitempty"`
	// message says what is wrong, if anything is.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// waitingSince says that samples which came since then wait in the engine, in memory
	// or in its spool, as the store does not take them, or did not: reads need the engine.
	// +optional
	WaitingSince *metav1.Time `json:"waitingSince,omitempty"`
	// since is when the phase began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// ShardPhase is where an engine is with a shard.
//
// +kubebuilder:validation:Enum=Joining;Capturing;Draining;Drained
type ShardPhase string

// Phases.
const (
	// Joining: channels are being connected; all that arrives is journalled.
	Joining ShardPhase = "Joining"
	// Capturing: every channel is connected that the engine can be expected to
	// connect, so another engine may stop.
	Capturing ShardPhase = "Capturing"
	// Draining: an order to stop came, whose successor is not capturing yet, or
	// what was captured is being flushed.
	Draining ShardPhase = "Draining"
	// Drained: everything is flushed, and the writer's claim is closed.
	Drained ShardPhase = "Drained"
)
