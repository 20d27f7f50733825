package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchiveGroup is a group of process variables (PVs) that are archived in the
// same way.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ag,categories=varve
// +kubebuilder:printcolumn:name="Channels",type=integer,JSONPath=`.status.channels.total`,description="Channels in the group"
// +kubebuilder:printcolumn:name="Connected",type=integer,JSONPath=`.status.channels.connected`,description="Channels that are connected now"
// +kubebuilder:printcolumn:name="Rate",type=number,JSONPath=`.status.rates.samplesPerSecond`,description="Samples per second"
// +kubebuilder:printcolumn:name="Retention",type=string,JSONPath=`.spec.retention.raw`,description="How long raw samples are kept; empty is forever"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ArchiveGroup struct {
	metav1.TypeMeta `json:",inline"`
	// metadata has the name, labels and so on.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which PVs to archive and how.
	// +required
	Spec ArchiveGroupSpec `json:"spec,omitzero"`
	// status is what the operator observed.
	// +optional
	Status *ArchiveGroupStatus `json:"status,omitempty"`
}

// ArchiveGroupList is a list of ArchiveGroups.
//
// +kubebuilder:object:root=true
type ArchiveGroupList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ArchiveGroup `json:"items"`
}

// Fields that are not acted on yet. Support for one deletes its line.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabledBy)",fieldPath=".enabledBy",reason=FieldValueForbidden,message="spec.enabledBy is not supported yet"

// ArchiveGroupSpec is what a user asks for.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fields) || !has(self.provider) || self.provider == 'PVA'",fieldPath=".fields",message="spec.fields are for provider PVA only"
type ArchiveGroupSpec struct {
	// archiverRef names the Archiver whose engines capture the group, in the
	// same namespace. It has no effect where there is one archiver only, as in
	// `varve standalone`.
	// +required
	ArchiverRef ArchiverReference `json:"archiverRef,omitzero"`

	// channels are the PVs, up to 1,000. More than that belong in
	// channelsFrom or in several groups.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Channels []Channel `json:"channels,omitempty"`

	// channelsFrom are places outside of this object that list more channels.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	ChannelsFrom []ChannelSource `json:"channelsFrom,omitempty"`

	// provider is the protocol of channels that say nothing else: CA (Channel
	// Access) or PVA (pvAccess). Default: spec.epics.defaultProvider of the
	// Archiver.
	// +optional
	Provider Provider `json:"provider,omitempty"`

	// fields of the structure that are archived of channels of provider PVA,
	// each with all that is below it. Alarm and time stamp always come along.
	// Default: the whole structure.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Fields []FieldPath `json:"fields,omitempty"`

	// sampling says which updates of a PV are stored. Default: every update
	// that the IOC posts for archiving (mode Monitor).
	// +optional
	Sampling *Sampling `json:"sampling,omitempty"`

	// enabledBy archives the group only while another PV meets a condition.
	// +optional
	EnabledBy *Gate `json:"enabledBy,omitempty"`

	// properties are fields of the record, such as DESC, whose changes are kept
	// with its history. Each that does not come with the protocol is one more
	// channel at the IOC. Units, limits, precision and names of states come with
	// the protocol, and are kept in any case.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Properties []Property `json:"properties,omitempty"`

	// retention says how long data is kept. Default: forever.
	// +optional
	Retention *Retention `json:"retention,omitempty"`

	// redundancy is the number of engines that capture each PV at the same
	// time, on different nodes as far as there are any: 1 or 2. With 2 nothing is
	// lost when an engine or its node dies; IOCs serve each PV twice. Where there
	// is one engine only, 2 has no effect, which the status says.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2
	Redundancy int32 `json:"redundancy,omitempty"`

	// expiresAt ends the capture by itself. Stored data follows retention.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// shardBy says which PVs go to the same engine. Default: each by itself.
	// +optional
	ShardBy *ShardBy `json:"shardBy,omitempty"`

	// paused stops the capture and keeps everything else.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// deletionPolicy is what deleting the group does to its data.
	// +optional
	// +kubebuilder:default=Retain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// ArchiverReference names an Archiver in the same namespace.
type ArchiverReference struct {
	// name of the Archiver.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
}

// DeletionPolicy is what deleting a group does to its data.
//
// +kubebuilder:validation:Enum=Retain;Delete
type DeletionPolicy string

// Deletion policies.
const (
	// RetainData keeps the data of PVs that are no longer archived.
	RetainData DeletionPolicy = "Retain"
	// DeleteData deletes the data of PVs that no other group archives.
	DeleteData DeletionPolicy = "Delete"
)
