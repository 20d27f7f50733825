package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchiveGroupStatus is what the operator observed: rounded, and written at most
// every 30 seconds. The state of every single channel is not here but in
// `varve status` and in the engines' HTTP API.
type ArchiveGroupStatus struct {
	// conditions are Ready, Progressing, Degraded, Conflicted and Expired.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status is of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// channels counts the group's channels by state.
	// +optional
	Channels *ChannelCounts `json:"channels,omitempty"`

	// rates of the whole group.
	// +optional
	Rates *Rates `json:"rates,omitempty"`

	// worstChannels are up to 20 channels to look at first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=20
	WorstChannels []WorstChannel `json:"worstChannels,omitempty"`
}

// ChannelCounts counts channels by state.
type ChannelCounts struct {
	// total number of channels, without names that can not be archived.
	// +optional
	Total int32 `json:"total"`
	// connected now.
	// +optional
	Connected int32 `json:"connected"`
	// disconnected now, but connected before.
	// +optional
	Disconnected int32 `json:"disconnected"`
	// neverConnected since the group took the channel.
	// +optional
	NeverConnected int32 `json:"neverConnected"`
	// silent channels are connected, but without updates for longer than usual.
	// +optional
	Silent int32 `json:"silent"`
	// paused by the group or by their own setting.
	// +optional
	Paused int32 `json:"paused"`
}

// Rates are what a group takes. Floats: samples per second of slow groups are
// below one.
type Rates struct {
	// samplesPerSecond stored.
	// +optional
	SamplesPerSecond float64 `json:"samplesPerSecond"`
	// bytesPerDay written to the journal: more than stays, since blocks are denser.
	// +optional
	BytesPerDay int64 `json:"bytesPerDay"`
}

// WorstChannel is a channel with a problem.
type WorstChannel struct {
	// name of the PV, canonical.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`
	// reason in one word, for programs.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message for people.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// Types of conditions of an ArchiveGroup.
const (
	// ConditionReady: every channel is assigned to an engine.
	ConditionReady = "Ready"
	// ConditionProgressing: a change of the spec is on its way to the engines.
	ConditionProgressing = "Progressing"
	// ConditionDegraded: some channels are not archived as asked.
	ConditionDegraded = "Degraded"
	// ConditionConflicted: another group has the same PVs.
	ConditionConflicted = "Conflicted"
	// ConditionExpired: expiresAt has passed.
	ConditionExpired = "Expired"
)
