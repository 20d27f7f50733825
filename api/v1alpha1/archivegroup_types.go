package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchiveGroup is a group of process variables (PVs) that are archived in the
// same way.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ag,categories=varve
// +kubebuilder:printcolumn:name="Channels",type=integer,JSONPath=`.status.channels.total`,description="Channels in the group"
// +kubebuilder:printcolumn:name="Connected",type=integer,JSONPath=`.status.channels.connected`,description="Connected channels"
// +kubebuilder:printcolumn:name="Rate",type=number,JSONPath=`.status.rates.samplesPerSecond`,description="Samples per second"
// +kubebuilder:printcolumn:name="Retention",type=string,JSONPath=`.spec.retention.raw`,description="How long raw samples are kept; empty means forever"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ArchiveGroup struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines which PVs are archived, and how.
	// +required
	Spec ArchiveGroupSpec `json:"spec,omitzero"`
	// status is what the operator observed. Before that, Ready is Unknown, so that nobody takes a new
	// object for a ready one.
	// +optional
	// +kubebuilder:default={conditions: {{type: "Ready", status: "Unknown", reason: "Pending", message: "the operator has not seen this object yet", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Reconciling", status: "True", reason: "Pending", message: "the operator has not seen this object yet", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
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

// ArchiveGroupSpec defines which PVs are archived, and how.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fields) || !has(self.provider) || self.provider == 'PVA'",fieldPath=".fields",message="spec.fields requires provider PVA"
type ArchiveGroupSpec struct {
	// archiverRef names the Archiver in the same namespace whose engines capture the group.
	// `varve standalone` ignores it.
	// +required
	ArchiverRef ArchiverReference `json:"archiverRef,omitzero"`

	// channels lists up to 1,000 PVs. For more PVs, use channelsFrom or several groups.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Channels []Channel `json:"channels,omitempty"`

	// channelsFrom are sources outside this object that list more channels.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	ChannelsFrom []ChannelSource `json:"channelsFrom,omitempty"`

	// provider is the protocol of the group's channels: CA (Channel Access) or PVA (pvAccess). A
	// channel can override it. Default: spec.epics.defaultProvider of the Archiver.
	// +optional
	Provider Provider `json:"provider,omitempty"`

	// fields selects the fields of a pvAccess structure to archive, each with its subfields.
	// Alarm and time stamp are always archived. It requires provider PVA. Default: the whole
	// structure.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Fields []FieldPath `json:"fields,omitempty"`

	// sampling defines which updates of a PV are stored. Default: every update that the IOC posts
	// for archiving (mode Monitor).
	// +optional
	Sampling *Sampling `json:"sampling,omitempty"`

	// enabledBy captures the PVs only while the value of another PV meets a condition. If that value is not known, for
	// example because the other PV is not connected, the PVs are captured. Default: always.
	// +optional
	EnabledBy *EnabledBy `json:"enabledBy,omitempty"`

	// properties are fields of the record, such as DESC, that are archived with the PV. Each
	// property adds a channel at the IOC, unless the protocol delivers it anyway. Units, limits,
	// precision and state names come with the protocol and are always archived.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Properties []Property `json:"properties,omitempty"`

	// retention defines how long data is kept. Default: forever.
	// +optional
	Retention *Retention `json:"retention,omitempty"`

	// rules define settings for PVs by their names. The first rule that matches a PV applies: its
	// settings replace those of the group, and those of the PV in channels replace the rule's.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Rules []Rule `json:"rules,omitempty"`

	// redundancy is the number of engines that capture each PV at the same time: 1 or 2. With 2,
	// the engines run on different nodes if possible: no sample is lost when an engine or its
	// node fails, and each IOC serves each PV twice. If the archive has only one engine, 2 has no
	// effect; the status says so.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2
	Redundancy int32 `json:"redundancy,omitempty"`

	// expiresAt is when the capture ends. Stored data is kept as retention defines.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self > timestamp('1970-01-01T00:00:00Z')",message="expiresAt must be a time such as 2027-06-30T00:00:00Z"
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// shardBy defines which PVs are captured by the same engine. Default: PVs are distributed one
	// by one.
	// +optional
	ShardBy *ShardBy `json:"shardBy,omitempty"`

	// paused stops the capture. Stored data stays.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// pauses are planned pauses of the capture, for example during a shutdown. Stored data stays.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Pauses []PlannedPause `json:"pauses,omitempty"`

	// deletions delete stored samples of PVs in a range of time, for good. Only varve standalone carries them out.
	// Remove an entry when it is done.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Deletions []SampleDeletion `json:"deletions,omitempty"`

	// requests lets scripts change channels with calls of the Archiver Appliance, such as archivePV and
	// pauseArchivingPV. Default: nobody may change the group by HTTP.
	// +optional
	Requests *ChangeRequests `json:"requests,omitempty"`

	// deletionPolicy defines what happens to the data when the group is deleted: Retain (the
	// default) keeps it; Delete deletes the data of PVs that no other group archives.
	// +optional
	// +kubebuilder:default=Retain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// ArchiverReference names an Archiver in the same namespace.
type ArchiverReference struct {
	// name is the name of the Archiver.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
}

// DeletionPolicy defines what happens to data when its object is deleted.
//
// +kubebuilder:validation:Enum=Retain;Delete
type DeletionPolicy string

// Deletion policies.
const (
	// RetainData keeps the data.
	RetainData DeletionPolicy = "Retain"
	// DeleteData deletes the data. The data of a PV that another group archives stays.
	DeleteData DeletionPolicy = "Delete"
)
