package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchiveShard assigns one shard of an archive, with its channels, to engines. The operator
// creates and changes it, as Kubernetes does with EndpointSlices. Do not change it yourself.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=as,categories=varve
// +kubebuilder:printcolumn:name="Archiver",type=string,JSONPath=`.spec.archiverRef.name`
// +kubebuilder:printcolumn:name="Index",type=integer,JSONPath=`.spec.index`
// +kubebuilder:printcolumn:name="Engine",type=string,JSONPath=`.spec.engines[0].name`,description="Engine that seals the shard"
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.spec.engines[1].name`,description="Second engine, while the shard moves"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.engines[0].phase`,description="Phase of the first engine that reported"
// +kubebuilder:printcolumn:name="Channels",type=integer,JSONPath=`.spec.channels`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ArchiveShard struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the channels of the shard and the engines that capture them.
	// +required
	Spec ArchiveShardSpec `json:"spec,omitzero"`
	// status is what the engines report. They write it only on transitions.
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

// ArchiveShardSpec defines the channels of a shard and the engines that capture them.
type ArchiveShardSpec struct {
	// archiverRef names the Archiver.
	// +required
	ArchiverRef ArchiverReference `json:"archiverRef,omitzero"`

	// index is the index of the shard, from 0. Indices from spec.shards of the Archiver up to
	// twice that number are shards of the PVs that two engines capture.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8191
	Index *int32 `json:"index,omitempty"`

	// engines are the engines of the shard. The first engine seals. An engine that disappears
	// from the list without an order to drain continues to capture.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=4
	Engines []ShardEngine `json:"engines,omitempty"`

	// channels is the number of channels in all lists that are not leaving.
	// +optional
	Channels int32 `json:"channels"`

	// lists are the ConfigMaps with the channels, named by the hash of their content. With no
	// lists, engines stop capturing; if the whole object is missing, they continue.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Lists []ChannelListReference `json:"lists,omitempty"`

	// former are channel lists that the shard captured until recently, and that other shards capture
	// now. The engines or the journal of the shard may still hold samples of these channels.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Former []FormerChannelList `json:"former,omitempty"`

	// deletions are lists of PVs whose data the sealer deletes. No shard captures these PVs.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Deletions []ChannelListReference `json:"deletions,omitempty"`

	// erasures are deletions of samples of the shard's PVs in ranges of time. The sealer carries them out.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Erasures []ShardErasure `json:"erasures,omitempty"`
}

// ShardErasure deletes the samples of PVs in a range of time.
type ShardErasure struct {
	// name is a hash of the other fields.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// group is the ArchiveGroup that requests the deletion: namespace/name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Group string `json:"group,omitempty"`
	// reason says why the samples are deleted.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`
	// from is the time of the first deleted sample, in ns since 1970. Default: all samples up to the time to.
	// +optional
	From *int64 `json:"from,omitempty"`
	// to is the time of the last deleted sample, in ns since 1970.
	// +required
	To *int64 `json:"to,omitempty"`
	// lists are the ConfigMaps with the PVs, named by the hash of their content.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Lists []string `json:"lists,omitempty"`
}

// ShardEngine is an engine of a shard, and its order.
type ShardEngine struct {
	// name is the name of the engine, which is the name of its pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// order is Capture or Drain. With Drain, the engine stops as soon as another engine with the
	// order Capture is in phase Capturing.
	// +required
	Order EngineOrder `json:"order,omitempty"`
}

// EngineOrder is what an engine must do with a shard.
//
// +kubebuilder:validation:Enum=Capture;Drain
type EngineOrder string

// Orders of engines.
const (
	OrderCapture EngineOrder = "Capture"
	OrderDrain   EngineOrder = "Drain"
)

// ChannelListReference names a ConfigMap in the same namespace that holds a
// channel list.
type ChannelListReference struct {
	// name is the name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// leaving is set when the channels of the list now belong to other shards. This shard
	// captures them until the other shards do.
	// +optional
	Leaving bool `json:"leaving,omitempty"`
}

// FormerChannelList names a channel list that a shard captured until recently.
type FormerChannelList struct {
	// name is the name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// left is when the shard stopped capturing the list. Other shards had captured its channels for
	// some time then.
	// +required
	Left *metav1.Time `json:"left,omitempty"`
	// needed is when an engine last held samples of the shard that the store had not accepted. If no engine has
	// held any since left, it equals left. The operator removes the list half an hour after needed.
	// +required
	Needed *metav1.Time `json:"needed,omitempty"`
}

// ArchiveShardStatus is what the engines of a shard report.
type ArchiveShardStatus struct {
	// engines has an entry for each engine. Each engine writes its own entry.
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

// ShardEngineStatus is what one engine reports of a shard.
type ShardEngineStatus struct {
	// name is the name of the engine.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// phase is the phase of the engine in this shard: Joining, Capturing, Draining or Drained.
	// +required
	Phase ShardPhase `json:"phase,omitempty"`
	// lists are the lists that the engine captures, by hash. They differ from the spec while a
	// change is being applied, or if a list cannot be read.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Lists []string `json:"lists,omitempty"`
	// deleted are the lists of spec.deletions whose data is deleted.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Deleted []string `json:"deleted,omitempty"`
	// erasures are how far spec.erasures are, as far as the engine knows. The sealer carries them out.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Erasures []ShardErasureStatus `json:"erasures,omitempty"`
	// connected is the number of channels that were connected, paused, or of a type that cannot be
	// archived when the engine began to capture the shard. The operator compares it with that of
	// the engine from which the shard moves.
	// +optional
	Connected *int32 `json:"connected,omitempty"`
	// message describes a problem of the engine with the shard. It is empty if there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// waitingSince is set while samples wait in the engine's memory or spool because the store
	// does not, or did not, accept them. It is the time of the oldest of them. Reads of newer
	// samples need this engine.
	// +optional
	WaitingSince *metav1.Time `json:"waitingSince,omitempty"`
	// since is when the phase began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// ShardErasureStatus is how far a deletion of samples is in one shard.
type ShardErasureStatus struct {
	// name is the name of the erasure in the spec.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// state is how far the deletion is.
	// +required
	State DeletionState `json:"state,omitempty"`
	// since is when the engine noticed that the state began.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// pvs is the number of PVs of the deletion in the shard.
	// +optional
	PVs int32 `json:"pvs,omitempty"`
	// removed is the number of PVs whose samples are removed from blocks and rollups.
	// +optional
	Removed int32 `json:"removed,omitempty"`
	// message says why the deletion does not go on. It is empty if nothing is wrong.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// ShardPhase is how far an engine is with capturing or draining a shard.
//
// +kubebuilder:validation:Enum=Joining;Capturing;Draining;Drained
type ShardPhase string

// Phases of an engine in a shard.
const (
	// Joining: the engine is connecting the channels. It journals all samples that arrive.
	Joining ShardPhase = "Joining"
	// Capturing: the engine has connected every channel that it can be expected to connect. Another
	// engine can stop if the operator finds that these are enough.
	Capturing ShardPhase = "Capturing"
	// Draining: the engine has the order to drain. Its successor is not capturing yet, or the
	// engine is flushing its samples.
	Draining ShardPhase = "Draining"
	// Drained: all samples are flushed, and the writer's claim is closed.
	Drained ShardPhase = "Drained"
)
