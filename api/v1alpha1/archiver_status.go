package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchiverStatus is what the operator observed: rounded, and written at most
// every 30 seconds but for transitions.
type ArchiverStatus struct {
	// conditions are Ready, Progressing, Degraded and StorageReady.
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

// ConditionStorageReady of an Archiver: engines can write to the storage.
const ConditionStorageReady = "StorageReady"
