package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchiveGroupStatus is what the operator observed. It is written at most every 30 seconds, with
// rounded numbers. `varve status` and the engines' HTTP API show the state of each channel.
type ArchiveGroupStatus struct {
	// conditions are Ready, Reconciling, Stalled, Degraded, Conflicted, Expired and, with a retention,
	// RetentionApplied. Questionable appears if the group is valid, but probably not what is meant.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// channels counts the group's channels by state.
	// +optional
	Channels *ChannelCounts `json:"channels,omitempty"`

	// rates are the rates of the whole group.
	// +optional
	Rates *Rates `json:"rates,omitempty"`

	// worstChannels are up to 20 channels with problems, the oldest problem first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=20
	WorstChannels []WorstChannel `json:"worstChannels,omitempty"`

	// deletions says for each entry of spec.deletions how far the deletion is.
	// +optional
	// +listType=map
	// +listMapKey=index
	// +kubebuilder:validation:MaxItems=16
	Deletions []SampleDeletionStatus `json:"deletions,omitempty"`
}

// ChannelCounts counts channels by state.
type ChannelCounts struct {
	// total is the number of channels, without names that cannot be archived.
	// +optional
	Total int32 `json:"total"`
	// connected is the number of channels that are connected.
	// +optional
	Connected int32 `json:"connected"`
	// disconnected is the number of channels that were connected before and are not now.
	// +optional
	Disconnected int32 `json:"disconnected"`
	// neverConnected is the number of channels that have not connected since they were added to
	// the group.
	// +optional
	NeverConnected int32 `json:"neverConnected"`
	// silent is the number of connected channels that have had no value since they connected.
	// +optional
	Silent int32 `json:"silent"`
	// paused is the number of channels that are paused: by the group, by a rule, by their own setting,
	// by a planned pause, or because they have expired.
	// +optional
	Paused int32 `json:"paused"`
	// disabled is the number of channels that are not captured now, because the condition of enabledBy is not met.
	// +optional
	Disabled int32 `json:"disabled,omitempty"`
	// expired is the number of channels whose own expiresAt has passed. Only ArchiveGroups count them.
	// +optional
	Expired int32 `json:"expired,omitempty"`
}

// Rates are a group's rates. They are floats, because slow groups have less than one sample per
// second.
type Rates struct {
	// samplesPerSecond is the number of samples stored per second.
	// +optional
	SamplesPerSecond float64 `json:"samplesPerSecond"`
	// bytesPerDay is the number of bytes written to the journal per day. The archive grows by
	// less, because blocks are smaller: varve forecast says by how much.
	// +optional
	BytesPerDay int64 `json:"bytesPerDay"`
}

// WorstChannel is a channel with a problem.
type WorstChannel struct {
	// name is the canonical name of the PV.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`
	// reason is the problem in one word, for programs.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message describes the problem, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// Condition types of an ArchiveGroup.
const (
	// ConditionReady is true when engines capture every channel.
	ConditionReady = "Ready"
	// ConditionReconciling is true while a change is in progress that completes without the user's help.
	// kstatus, which Flux, Helm and Argo CD use, knows this condition and ConditionStalled.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is true when the spec is not in effect, and stays so until somebody changes something.
	ConditionStalled = "Stalled"
	// ConditionDegraded is true when some channels are not archived as specified.
	ConditionDegraded = "Degraded"
	// ConditionConflicted is true when another group has some of the same PVs.
	ConditionConflicted = "Conflicted"
	// ConditionExpired is true when expiresAt has passed.
	ConditionExpired = "Expired"
	// ConditionQuestionable is true when the group is valid, but probably not what is meant. Otherwise
	// there is no such condition.
	ConditionQuestionable = "Questionable"
)
